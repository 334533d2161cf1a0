/* printed.c: see printed.h. */
#include "printed.h"

#include <lab/trace/example.h>

typedef unsigned long long number; /* for printing */

static double percent(uint64_t part, uint64_t of) {
    return 100.0 * (double)part / (double)of;
}

/* ---- [0] ---- */

static void show_revisits(example *x, uint64_t tables) {
    static const struct { unsigned places, keys; } SIZES[] = {{600, 100}, {64, 29}};
    print_title(x, "[0], algorithm 3, lines 13 to 15: new functions at the first cycle");
    print(x, "printed     \"we get a cycle i.e. we reach a position that we have already\n"
             "            reached before (meaning that the process would continue\n"
             "            indefinitely)\"\n");
    print(x, "            A walk that returns to a place turns round, comes back to the new\n"
             "            key and continues with its other place, which is usually free.\n");
    for (unsigned i = 0; i < 2; i++) {
        uint64_t printed = printed_revisits(x->seed, tables, SIZES[i].places, SIZES[i].keys, true),
                 right = printed_revisits(x->seed, tables, SIZES[i].places, SIZES[i].keys, false);
        print(x, "as printed  %llu of %llu tables, %u places, %u keys, draw anew: %.2f%%\n", (number)printed,
              (number)tables, SIZES[i].places, SIZES[i].keys, percent(printed, tables));
        print(x, "corrected   %llu of them: %.2f%%\n", (number)right, percent(right, tables));
    }
    print(x, "correction  Draw new functions when a place is reached for the third time, or\n"
             "            after Max steps.\n\n");
}

typedef uint64_t repeats(uint64_t seed, uint64_t tables, unsigned places, unsigned keys, bool as_printed);

static void show_repeats(example *x, uint64_t tables, repeats *count, const char *title) {
    enum { PLACES = 600, KEYS = 100 };
    uint64_t printed = count(x->seed, tables, PLACES, KEYS, true), right = count(x->seed, tables, PLACES, KEYS, false);
    print_title(x, title);
    print(x, "printed     An insertion does not look the key up. A key that is inserted twice\n"
             "            is stored twice, and a deletion takes out one of the two.\n");
    print(x,
          "as printed  %llu of %llu tables still find a key that was inserted twice and\n"
          "            deleted once\n",
          (number)printed, (number)tables);
    print(x, "correction   1  if lookup(x) then return;    (line 1 of algorithm 2 of [4])\n");
    print(x, "corrected   %llu of %llu tables find it\n\n", (number)right, (number)tables);
    (void)check(x, right == 0, "a key that was deleted is found although insertions look keys up");
}

/* ---- [1] ---- */

static void show_algorithm_1(example *x, uint64_t tables) {
    enum { PLACES = 64, KEYS = 32 };
    printed_probing printed = printed_algorithm_1(x->seed, tables, PLACES, KEYS, true),
                    right = printed_algorithm_1(x->seed, tables, PLACES, KEYS, false);
    print_title(x, "[1], algorithm 1 as an insertion: nothing ends the loop");
    print(x, "printed     \"The algorithm for inserting a new item into the table is similar;\n"
             "            only the second-to-last line is changed to T[h_i(x)] <- x\"\n");
    print(x, "            The line that is meant is \"return absent\". Without a return the\n"
             "            loop goes on and stores x in every empty place.\n");
    print(x, "as printed  %llu of %llu keys are not found; a key is stored up to %llu times\n",
          (number)printed.not_found, (number)printed.keys, (number)printed.most_copies);
    print(x, "            (%llu tables of %d places, %d keys each)\n", (number)tables, PLACES, KEYS);
    print(x, "correction      T[h_i(x)] <- x; return h_i(x)\n");
    print(x, "corrected   %llu of %llu keys are not found; a key is stored up to %llu times\n\n",
          (number)right.not_found, (number)right.keys, (number)right.most_copies);
    (void)check(x, right.not_found == 0 && right.most_copies == 1, "open addressing loses or repeats a key");
}

/* ---- [2] ---- */

static void show_steps(example *x, uint64_t filters) {
    printed_filter printed = printed_steps_of_2(x->seed, filters, true),
                   right = printed_steps_of_2(x->seed, filters, false);
    print_title(x, "[2], insertion into a filter, step 9: i is drawn again");
    print(x, "printed      4  Otherwise, select i randomly from i_1 and i_2\n"
             "             7  Compute the second index j = i (+) h_2(f)\n"
             "             9  Otherwise repeat 4-8 until ...\n");
    print(x, "            Step 4 selects one of the buckets of the new key again. Then the\n"
             "            fingerprint that has no entry goes into a bucket of another key.\n");
    print(x, "as printed  %llu of %llu keys are not found: %.2f%%\n", (number)printed.not_found, (number)printed.keys,
          percent(printed.not_found, printed.keys));
    print(x, "            (%llu filters of 1024 buckets of 4, filled to a load of 0.8)\n", (number)filters);
    print(x, "correction   9  Otherwise set i = j and repeat 5-8 until ...\n");
    print(x, "corrected   %llu of %llu keys are not found\n\n", (number)right.not_found, (number)right.keys);
    (void)check(x, right.not_found <= right.given_up, "the steps of [2] lose a key although step 9 is corrected");
}

/* ---- [4] ---- */

enum { PLACES_OF_4 = 64, KEYS_OF_4 = 29 };

static void show_algorithm_2(example *x, uint64_t tables) {
    printed_losses printed = printed_algorithm_2(x->seed, tables, PLACES_OF_4, KEYS_OF_4, true),
                   right = printed_algorithm_2(x->seed, tables, PLACES_OF_4, KEYS_OF_4, false);
    print_title(x, "[4], algorithm 2, line 14: the wrong key is inserted again");
    print(x, "printed     14  rehash(T); insert(x);\n");
    print(x, "            After the loop the key without a place is hold. It is usually not\n"
             "            x: then x is in the table, insert(x) returns at once, and hold\n"
             "            is lost.\n");
    print(x, "as printed  %llu of %llu tables of %d places with %d keys lose a key: %.2f%%\n", (number)printed.losing,
          (number)tables, PLACES_OF_4, KEYS_OF_4, percent(printed.losing, tables));
    print(x, "            did not end: %llu of %llu (a key that takes more than 10000 rehashes)\n",
          (number)printed.endless, (number)tables);
    print(x, "correction  14  rehash(T); insert(hold);\n");
    print(x, "corrected   %llu of %llu tables lose a key; %llu of them rehash; did not end: %llu\n\n",
          (number)right.losing, (number)tables, (number)right.rehashed, (number)right.endless);
    (void)check(x, right.lost == 0, "algorithm 2 of [4] loses a key although line 14 is corrected");
}

static void show_graph(example *x, uint64_t tables) {
    enum { UNIVERSE = 1000 };
    printed_edges most = printed_graph(x->seed, tables, PLACES_OF_4, KEYS_OF_4, UNIVERSE);
    print_title(x, "[4], the cuckoo graph: edges of all keys, in both directions");
    print(x, "printed     E = {(i, j) : there is an e in U with h_k(e) = i, h_{1-k}(e) = j\n"
             "            for some k in {0, 1}}\n");
    print(x, "            U is the universe, not the table, and k may be 0 or 1, so every\n"
             "            edge has both directions. But \"Each vertex has at most 1 outgoing\n"
             "            edge\" (proposition 1).\n");
    print(x, "as printed  up to %u edges begin at a place, with a universe of %d keys\n", most.of_universe, UNIVERSE);
    print(x, "            up to %u, with only the %d keys of the table, in both directions\n", most.of_table,
          KEYS_OF_4);
    print(x, "            (the most in %llu tables of %d places)\n", (number)tables, PLACES_OF_4);
    print(x, "correction  Each key of the table is an edge from its place to its other place.\n");
    print(x, "corrected   up to %u edge begins at a place\n\n", most.directed);
    (void)check(x, most.directed == 1, "more than one edge begins at a place of the corrected cuckoo graph");
}

static void show_algorithm_3(example *x, uint64_t filters) {
    printed_filter printed = printed_algorithm_3(x->seed, filters, true),
                   right = printed_algorithm_3(x->seed, filters, false);
    print_title(x, "[4], algorithm 3, lines 5 to 9: the loop overwrites the bucket");
    print(x, "printed      5  i <- h1(x);\n"
             "             6  for i <- 0 to Max do\n"
             "             9      i = i (+) h2(f);\n");
    print(x, "            The loop sets i, the index of the bucket, to 0. Fingerprints are\n"
             "            swapped into bucket 0 and the next ones, where no lookup reads. And\n"
             "            line 9 sets the counter, so it need not get to Max.\n");
    print(x, "as printed  %llu of %llu keys are not found: %.2f%%\n", (number)printed.not_found, (number)printed.keys,
          percent(printed.not_found, printed.keys));
    print(x, "            (%llu filters of 256 buckets of 4, filled to a load of 0.9)\n", (number)filters);
    print(x, "            did not end: %llu of %llu (a key that takes more than 10000 passes)\n",
          (number)printed.endless, (number)printed.keys);
    print(x, "            did not end: %llu of %llu keys that are added to a full filter\n",
          (number)printed_full_filters(x->seed, filters, true), (number)filters);
    print(x, "correction   6  for n <- 0 to Max do\n");
    print(x, "corrected   %llu of %llu keys are not found\n", (number)right.not_found, (number)right.keys);
    print(x, "            did not end: %llu of %llu keys that are added to a full filter\n",
          (number)printed_full_filters(x->seed, filters, false), (number)filters);
    print(x, "            Line 14, \"Rehash; Insert(x)\", has nothing to rehash: a filter\n"
             "            holds no keys. kith refuses the key and changes nothing.\n\n");
    (void)check(x, right.not_found <= right.given_up, "algorithm 3 of [4] loses a key although the loop is corrected");
}

const char *lab_as_printed(uint64_t seed, bool quick, lab_say *say, void *context) {
    example x = {.seed = seed, .say = say, .context = context};
    uint64_t tables = quick ? 4000 : 40000;
    show_revisits(&x, tables);
    show_repeats(&x, tables / 20, printed_repeats, "[0], algorithms 3 to 5: a key that is inserted twice");
    show_algorithm_1(&x, tables / 40);
    show_repeats(&x, tables / 20, printed_repeats_in_two, "[2], steps 1 to 5: a key that is inserted twice");
    show_steps(&x, quick ? 10 : 100);
    show_algorithm_2(&x, tables);
    show_graph(&x, tables / 40);
    show_algorithm_3(&x, quick ? 20 : 200);
    print_sources(&x);
    return x.wrong;
}
