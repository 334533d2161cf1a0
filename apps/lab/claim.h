/* claim.h: a claim is a statement of the theory that an experiment can test.
 *
 * Each claim has its own file in the folder of its group (bloom/b2.c) and one line in claims.def. The file contains
 * the texts of the claim and a function that runs the experiment. The function measures the library's own structures
 * and records its findings through experiment.h. It neither computes the verdict nor prints anything; lab.c and
 * report/ do. */
#ifndef LAB_CLAIM_H
#define LAB_CLAIM_H

#include <stdbool.h>
#include <stddef.h>

struct lab;

/* A parameter of an experiment, which `kith lab CLAIM --set name=value` changes. Values are a number, a list of numbers
 * ("0.3,0.45") or one of some words. */
typedef struct lab_setting {
    const char *name, *help;
    const char *quick, *full; /* the values of a run with --quick and of a full run, as --set would give them */
    double least, most;       /* numbers outside this range are refused */
    double from, to;          /* the claim covers this range: with other numbers the findings are shown, not judged */
    bool is_list, is_whole;   /* several numbers, and integers only */
    bool is_size;             /* how large the experiment is, and not a quantity that the claim is about */
    const char *words;        /* the words to choose from, separated by blanks; NULL: numbers */
} lab_setting;

/* A size, such as the number of keys or of tables. The claim covers sizes from that of the quick run on: with fewer
 * keys a limit is not reached, and with fewer tables an interval cannot be trusted. */
#define LAB_SIZE(of, in_quick, in_full, at_least, at_most, text)                                                       \
    {                                                                                                                  \
        .name = (of), .help = (text), .quick = #in_quick, .full = #in_full, .least = (at_least), .most = (at_most),    \
        .from = (in_quick) < (in_full) ? (in_quick) : (in_full), .to = (at_most), .is_whole = true, .is_size = true    \
    }

/* A number from `at_least` to `at_most`, of which the claim covers those from `covers` to `covers_to`. */
#define LAB_NUMBER(of, by_default, at_least, at_most, covers, covers_to, text)                                         \
    {                                                                                                                  \
        .name = (of), .help = (text), .quick = (by_default), .full = (by_default), .least = (at_least),                \
        .most = (at_most), .from = (covers), .to = (covers_to)                                                         \
    }

/* The same for an integer. */
#define LAB_WHOLE(of, by_default, at_least, at_most, covers, covers_to, text)                                          \
    {                                                                                                                  \
        .name = (of), .help = (text), .quick = (by_default), .full = (by_default), .least = (at_least),                \
        .most = (at_most), .from = (covers), .to = (covers_to), .is_whole = true                                       \
    }

/* A list of numbers from `at_least` to `at_most`, of which the claim covers those from `covers` to `covers_to`. */
#define LAB_LIST(of, in_quick, in_full, at_least, at_most, covers, covers_to, text)                                    \
    {                                                                                                                  \
        .name = (of), .help = (text), .quick = (in_quick), .full = (in_full), .least = (at_least), .most = (at_most),  \
        .from = (covers), .to = (covers_to), .is_list = true                                                           \
    }

/* The same for integers. */
#define LAB_WHOLES(of, in_quick, in_full, at_least, at_most, covers, covers_to, text)                                  \
    {                                                                                                                  \
        .name = (of), .help = (text), .quick = (in_quick), .full = (in_full), .least = (at_least), .most = (at_most),  \
        .from = (covers), .to = (covers_to), .is_list = true, .is_whole = true                                         \
    }

/* One of several words. */
#define LAB_WORD(of, by_default, all, text)                                                                            \
    { .name = (of), .help = (text), .quick = (by_default), .full = (by_default), .words = (all) }

enum { LAB_SETTINGS_MAX = 8 };

typedef struct lab_claim {
    const char *id;       /* "B2" */
    const char *title;    /* a short phrase: "rate of a full Bloom filter" */
    const char *sentence; /* the claim itself, in one or two sentences */
    const char *formula; /* in the notation of report/formula.h: "ε = (1 − e^{−kn/m})^{k}"; NULL if there is none */
    const char *code;    /* the source file that implements it: "src/kinds/bloom/bloom.c" */
    const char *decides; /* a part of the description of the finding that decides the claim: "m/n = 8, k = 6" */
    const char *note;    /* where the documents are wrong or imprecise, and what is true; NULL if they are right */
    lab_setting settings[LAB_SETTINGS_MAX]; /* ends at the first without a name */
    void (*run)(struct lab *l);
} lab_claim;

/* All claims, in the order of claims.def. */
extern const lab_claim *const LAB_CLAIMS[];
extern const size_t LAB_CLAIM_COUNT;

/* Finds a setting of a claim. Returns NULL if the claim has none with this name. */
const lab_setting *lab_setting_named(const lab_claim *claim, const char *name);

/* Checks a value for a setting. Returns NULL if it is valid, and else what is expected: "a number from 1 to 1000". The
 * text is valid until the next call on the same thread. */
const char *lab_setting_check(const lab_setting *setting, const char *value);

/* True if the claim covers a valid value. */
bool lab_setting_covers(const lab_setting *setting, const char *value);

/* Reads the numbers of a valid value; writes at most `most` of them and returns how many there are. */
size_t lab_setting_numbers(const char *value, double *numbers, size_t most);

/* Finds a claim by its id; case does not matter. Returns NULL if there is no such claim. */
const lab_claim *lab_claim_named(const char *id);

#endif
