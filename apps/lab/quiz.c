/* quiz.c: see quiz.h. */
#include "quiz.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tolerances and the borders between choices are at least as far from the value of the theory as the interval of a
 * quick run reaches, so a right prediction is refused with a probability of about one in a million. */
const lab_question LAB_QUESTIONS[LAB_QUESTION_COUNT] = {
    {.document = 0,
     .claim = "B2",
     .finding = "m/n = 10, k = 7",
     .text = "A Bloom filter has 10 bits per key and 7 hash functions. What is its rate of false positives?",
     .tolerance = 0.15},
    {.document = 0,
     .claim = "B1",
     .finding = "one array: bits that are 0 at kn/m = 0.7, k = 7",
     .text = "n keys set k bits each in one array of m bits, and kn/m = 0.7. Which share of the bits is still 0?",
     .tolerance = 0.03},
    {.document = 0,
     .claim = "B12",
     .finding = "rate with 20 hashes, minus the rate with 7",
     .text = "A Bloom filter with 10 bits per key takes 20 hash functions instead of 7. Its rate",
     .choices = {"falls", "hardly changes", "rises by more than a percentage point"},
     .b_from = -0.01,
     .c_from = 0.01},
    {.document = 0,
     .claim = "C4",
     .finding = "n = 100: P(cycle), exact",
     .text = "A cuckoo table with one slot per bucket has 6 slots per key. How likely is a cycle in its cuckoo graph?",
     .choices = {"less than 5%", "5% to 50%", "more than 50%"},
     .b_from = 0.05,
     .c_from = 0.5},
    {.document = 1,
     .claim = "T1",
     .finding = "nodes visited, load 2.00",
     .text =
         "A hash table with chaining has two keys per slot. How many nodes does a search for an absent key visit, on "
         "average?",
     .tolerance = 0.05},
    {.document = 1,
     .claim = "T2",
     .finding = "nodes visited, load 8.00, n = 2048",
     .text =
         "A hash table with chaining has eight keys per slot. How many nodes does a search for a present key visit, "
         "on average?",
     .tolerance = 0.05},
    {.document = 1,
     .claim = "T3",
     .finding = "double hashing, load 0.5: probes, bound of uniform hashing",
     .text = "Open addressing with double hashing, half of the slots occupied. How many slots does a search for an "
             "absent key read, on average?",
     .tolerance = 0.05},
    {.document = 1,
     .claim = "T5",
     .finding = "uniform hashing, load 0.5: probes, bound (1024 slots)",
     .text = "Open addressing with uniform hashing, half of the slots occupied. How many slots does a search for a "
             "present key read, on average?",
     .tolerance = 0.05},
    {.document = 1,
     .claim = "T6",
     .finding = "the same keys, siphash with a random key",
     .text =
         "A hash table with chaining has 512 slots. An adversary has chosen 512 keys that all fall into one of them. "
         "Then the table draws a random secret key for its hash function, and the keys are inserted again. How long "
         "is the longest chain now?",
     .choices = {"about 5", "about 23, the square root", "still 512"},
     .b_from = 12,
     .c_from = 100},
    {.document = 2,
     .claim = "B9",
     .finding = "AND, keys in neither, compared with the rate of A, the larger one, |A ∩ B| = 0.5 |B|",
     .text =
         "The Bloom filters of A and B have rates of 6.3% and 0.7%, and half of B is in A. How often does the AND of "
         "their bits find a key that is in neither?",
     .choices = {"in less than 0.5% of lookups", "in 0.5% to 5%", "in more than 5%"},
     .b_from = 0.005,
     .c_from = 0.05},
    {.document = 2,
     .claim = "B11",
     .finding = "other keys lost by one deletion, k = 7",
     .text =
         "Half of the bits of a Bloom filter of 2000 keys with k = 7 are set. A key is deleted by clearing its bits. "
         "How many others are lost, on average?",
     .choices = {"none", "about 5", "more than 20"},
     .b_from = 0.5,
     .c_from = 20},
    {.document = 2,
     .claim = "F1",
     .finding = "b = 4, f = 8, load 0.93: rate",
     .text = "A cuckoo filter has buckets of 4, fingerprints of 8 bits and a load of 0.93. What is its rate of false "
             "positives?",
     .tolerance = 0.15},
    {.document = 2,
     .claim = "F4",
     .finding = "b = 4: mean load, threshold",
     .text = "A cuckoo filter with buckets of 4 refuses a key only if it has searched everywhere. At which load?",
     .choices = {"about 0.5", "about 0.75", "above 0.9"},
     .b_from = 0.6,
     .c_from = 0.9},
    {.document = 3,
     .claim = "H3",
     .finding = "8-wise polynomial: words that depend on k",
     .text = "How many coefficients does a polynomial have that is an 8-wise independent hash function?"},
    {.document = 3,
     .claim = "K4",
     .finding = "counting: lowest counter of the key after 28 removals",
     .text =
         "A counting filter has counters of 4 bits, which stay at 15 once they reach it. After a merge it holds a key "
         "28 times. The key is removed 28 times. What is its lowest counter?"},
    {.document = 3,
     .claim = "B13",
     .finding = "absent keys, half of the bits set, k = 7",
     .text =
         "Half of the bits of a Bloom filter with k = 7 are set. How many bits does a lookup of an absent key read, on "
         "average, if it stops at the first bit that is 0?",
     .choices = {"about 2", "about 4", "7"},
     .b_from = 3,
     .c_from = 6},
    {.document = 4,
     .claim = "C8",
     .finding = "2 functions, b = 2: load, stated by [4]",
     .text = "A cuckoo table has two hash functions and two slots per bucket. Up to which load can it be filled?",
     .choices = {"about 0.5", "about 0.75", "about 0.9"},
     .b_from = 0.65,
     .c_from = 0.82},
    {.document = 4,
     .claim = "C9",
     .finding = "two choices, one in each half, n = 2^16",
     .text = "65,536 balls are thrown into as many bins. Each goes into the emptier of two: a random bin of the first "
             "half and a random bin of the second. How many balls has the fullest bin?",
     .choices = {"fewer than 5", "5 to 9", "10 or more"},
     .b_from = 5,
     .c_from = 10},
    {.document = 4,
     .claim = "C1",
     .finding = "d=2 b=4: maximum number of slots that a lookup or removal reads",
     .text = "A cuckoo table has two hash functions and four slots per bucket. How many slots does a lookup read at "
             "most?"},
    {.document = 4,
     .claim = "F5",
     .finding = "b = 4: copies that fit, minimum",
     .text = "A cuckoo filter has buckets of 4 and is empty. How many copies of one key fit?"},
};

const lab_finding *lab_quiz_finding(const lab_question *question, const lab_result *result) {
    for (size_t i = 0; i < result->finding_count; i++)
        if (strcmp(result->findings[i].what, question->finding) == 0)
            return &result->findings[i];
    return NULL;
}

char lab_quiz_choice(const lab_question *question, double measured) {
    return (char)('a' + (measured >= question->b_from) + (measured >= question->c_from));
}

static const char *after_blanks(const char *text) {
    while (isspace((unsigned char)*text))
        text++;
    return text;
}

static bool is_blank(const char *text) {
    return *after_blanks(text) == '\0';
}

/* A letter, of either case, alone or as "c)", "c." or "(c)". */
static bool is_choice(const char *answer, char choice) {
    bool bracket = *answer == '(';
    answer += bracket;
    if ((*answer | 0x20) != choice)
        return false;
    answer++;
    if (bracket && *answer != ')')
        return false;
    return is_blank(answer + (*answer == ')' || *answer == '.'));
}

bool lab_quiz_is_right(const lab_question *question, const char *answer, double measured) {
    answer = after_blanks(answer);
    if (question->choices[0] != NULL)
        return is_choice(answer, lab_quiz_choice(question, measured));
    char *end;
    double number = strtod(answer, &end);
    const char *rest = after_blanks(end);
    if (*rest == '%') {
        number /= 100;
        rest++;
    }
    return end != answer && is_blank(rest) && fabs(number - measured) <= question->tolerance * measured;
}
