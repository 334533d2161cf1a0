/* sources.c: the documents that make the claims. docs/theory.md has the same list. */
#include "result.h"

const lab_source LAB_SOURCES[LAB_SOURCE_COUNT] = {
    {"Eric Vigoda", "Lecture 18: Bloom Filters and Cuckoo Hashing", "2019, scribed by Satchit Sivakumar"},
    {"Mehrnoosh Sameki", "Lecture Notes on Hashing, and Bloom Filters", "2013"},
    {"", "Bloom and Cuckoo", "an article of 2022"},
    {"Eric Price", "CS 388R, Lecture 8: Bloom Filters", "2021, scribed by Tongrui Li and Yihan Zhou"},
    {"Noah Fleming", "Cuckoo Hashing and Cuckoo Filters", "2018"},
};
