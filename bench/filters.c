/* filters.c: the main program of the filter benchmark, which compares every kind with its peers and the machine's
 * limits.
 *
 *     for each n
 *         ROUNDS times
 *             for each kind: measure the filter, then the limits on the same amount of memory
 *             for each peer: measure it at each rate that a kind has
 *             measure the hashing of keys
 *         print the table
 *     write the JSON
 *
 * Every round measures everything again, so that a slow phase of the machine affects all of them and shows in the
 * spread. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

static const char help[] =
    "usage: bench_filters [OPTION]…\n"
    "\n"
    "  --n LIST        numbers of keys, separated by commas (default: 1e4,1e6)\n"
    "  --kinds LIST    kinds of filters, separated by commas (default: all that do not grow)\n"
    "  --rate P        rate of all kinds (default: 0.01 for bits and counters, 0.001 for fingerprints)\n"
    "  --only LIST     measure only these: add, build, has, remove (default: all)\n"
    "  --peers yes|no  measure other libraries, too (default: yes)\n"
    "  --rounds R      number of rounds (default: 5)\n"
    "  --asks M        time at most M lookups per round (default: 4e6)\n"
    "  --least M       repeat rounds with fewer than M operations until they have M (default: 1e6)\n"
    "  --clock CLOCK   wall, or cpu: CPU time for operations on one thread, without other programs (default: wall)\n"
    "  --json FILE     write all figures to FILE as JSON\n"
    "\n"
    "Exit status: 0 done, 1 a filter returned a wrong result, 2 invalid usage or out of memory.\n";

#define MAX_SIZES 16
#define MAX_KINDS 64

typedef struct options {
    size_t sizes[MAX_SIZES];
    size_t size_count;
    const char *kinds[MAX_KINDS];
    size_t kind_count;
    unsigned groups; /* a combination of op_group */
    bool no_peers;
    double rate;
    size_t rounds, max_lookups, min_operations;
    const char *clock, *json;
} options;

static double number(const char *text, double min, double max) {
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || errno != 0 || !(value >= min && value <= max))
        fail("%s is not a number from %g to %g", text, min, max);
    return value;
}

static const char *known_kind(const char *name) {
    for (size_t i = 0; i < kith_filter_kind_count(); i++)
        if (strcmp(kith_filter_kind_at(i)->name, name) == 0)
            return kith_filter_kind_at(i)->name;
    fail("unknown kind %s", name);
}

static void read_size(options *o, const char *item) {
    if (o->size_count == MAX_SIZES)
        fail("more than %d numbers of keys", MAX_SIZES);
    o->sizes[o->size_count++] = (size_t)number(item, 100, 4e9);
}

static void read_kind(options *o, const char *item) {
    if (o->kind_count == MAX_KINDS)
        fail("more than %d kinds", MAX_KINDS);
    o->kinds[o->kind_count++] = known_kind(item);
}

static void read_group(options *o, const char *item) {
    static const char *const names[] = {"add", "build", "has", "remove"};
    for (unsigned f = 0; f < sizeof names / sizeof *names; f++)
        if (strcmp(names[f], item) == 0) {
            o->groups |= 1u << f;
            return;
        }
    fail("--only accepts add, build, has and remove, not %s", item);
}

static void read_list(options *o, char *list, void (*read_item)(options *o, const char *item)) {
    for (char *next, *item = list; item != NULL; item = next) {
        next = strchr(item, ',');
        if (next != NULL)
            *next++ = '\0';
        read_item(o, item);
    }
}

static options read_options(int argc, char **argv) {
    /* A million operations take some milliseconds, longer than the time slice of another program. */
    options o = {.rounds = 5, .max_lookups = 4000000, .min_operations = 1000000, .clock = "wall"};
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        if (strcmp(name, "--help") == 0) {
            fputs(help, stdout);
            exit(0);
        }
        char *value = i + 1 < argc ? argv[++i] : NULL;
        if (value == NULL)
            fail("%s: unknown option, or its value is missing; see --help", name);
        if (strcmp(name, "--n") == 0)
            read_list(&o, value, read_size);
        else if (strcmp(name, "--kinds") == 0)
            read_list(&o, value, read_kind);
        else if (strcmp(name, "--only") == 0)
            read_list(&o, value, read_group);
        else if (strcmp(name, "--peers") == 0 && (strcmp(value, "yes") == 0 || strcmp(value, "no") == 0))
            o.no_peers = strcmp(value, "no") == 0;
        else if (strcmp(name, "--rate") == 0)
            o.rate = number(value, 1e-9, 0.5);
        else if (strcmp(name, "--rounds") == 0)
            o.rounds = (size_t)number(value, 1, 1000);
        else if (strcmp(name, "--asks") == 0)
            o.max_lookups = (size_t)number(value, 100, 4e9);
        else if (strcmp(name, "--least") == 0)
            o.min_operations = (size_t)number(value, 1, 4e9);
        else if (strcmp(name, "--clock") == 0 && (strcmp(value, "wall") == 0 || strcmp(value, "cpu") == 0))
            o.clock = value;
        else if (strcmp(name, "--json") == 0)
            o.json = value;
        else
            fail("unknown option %s %s; see --help", name, value);
    }
    if (o.groups == 0)
        o.groups = GROUP_ALL;
    if (o.size_count == 0) {
        static const size_t usual[] = {10000, 1000000};
        memcpy(o.sizes, usual, sizeof usual);
        o.size_count = sizeof usual / sizeof *usual;
    }
    /* A filter that grows consists of others, and its times are theirs multiplied by the number of layers. */
    bool all = o.kind_count == 0;
    for (size_t i = 0; all && i < kith_filter_kind_count(); i++) {
        const kith_kind_info *kind = kith_filter_kind_at(i);
        if (!(kind->capabilities & KITH_CAN_GROW) && o.kind_count < MAX_KINDS)
            o.kinds[o.kind_count++] = kind->name;
    }
    return o;
}

static bool enough_memory(uint64_t needed) {
    uint64_t available = memory_available();
    return available == 0 || needed < available - available / 8;
}

static void peers_round(const subject *subjects, size_t count, const keys *k, bool first, results *r) {
    for (const peer *const *p = peers; *p != NULL; p++)
        for (size_t s = 0; s < count; s++) {
            bool done = false;
            for (size_t before = 0; before < s; before++)
                done = done || subjects[before].rate == subjects[s].rate;
            if (!done)
                peer_round(*p, subjects[s].rate, k, first, r);
        }
}

static void run_size(const options *o, size_t n, subject *subjects, results *r) {
    uint64_t for_keys = keys_bytes(n, o->max_lookups);
    size_t count = 0;
    for (size_t i = 0; i < o->kind_count; i++) {
        if (!subject_plan(&subjects[count], o->kinds[i], n, o->rate, r))
            continue;
        if (!enough_memory(for_keys + subject_bytes(&subjects[count], n)))
            results_skip(r, "%s of %zu keys: needs %.1f GB, more than is available", o->kinds[i], n,
                         (double)(for_keys + subject_bytes(&subjects[count], n)) / 1e9);
        else
            count++;
    }
    if (count == 0)
        return;
    keys k = keys_make(n, o->max_lookups, o->min_operations);
    for (size_t round = 0; round < o->rounds; round++) {
        say("%zu keys, round %zu of %zu", n, round + 1, o->rounds);
        for (size_t s = 0; s < count; s++) {
            subject_round(&subjects[s], &k, o->groups, round == 0, r);
            subject_limits_round(&subjects[s], &k, round == 0, r);
        }
        if (!o->no_peers)
            peers_round(subjects, count, &k, round == 0, r);
        for (size_t h = 0; h < HASHING_COUNT; h++) {
            row like = {.who = "limit", .name = "", .n = n, .op = HASHINGS[h].name, .threads = 1, .pages = ""};
            results_push(results_row(r, &like), limit_digest(&HASHINGS[h], k.lookups < 1000000 ? 1000000 : k.lookups));
        }
    }
    for (size_t s = 0; s < count; s++)
        subject_link(&subjects[s], &k, r);
    print_table(r, subjects, count, n, o->rounds);
    keys_free(&k);
}

int main(int argc, char **argv) {
    options o = read_options(argc, argv);
    results r = {0};
    clock_is_cpu(strcmp(o.clock, "cpu") == 0);
    /* Opened first, so that a file that cannot be written is reported before the measurements. */
    FILE *json = o.json != NULL ? fopen(o.json, "w") : NULL;
    if (o.json != NULL && json == NULL)
        fail("%s: %s", o.json, strerror(errno));
    /* The results point to names in the subjects, so these must live until the end. */
    subject *subjects = allocate(o.size_count * o.kind_count * sizeof *subjects);
    for (size_t i = 0; i < o.size_count; i++)
        run_size(&o, o.sizes[i], subjects + i * o.kind_count, &r);
    if (json != NULL) {
        run_settings settings = {o.rounds, o.max_lookups, o.clock};
        write_json(json, &r, &settings);
        if (ferror(json) | (fclose(json) != 0))
            fail("cannot write %s", o.json);
    }
    free(subjects);
    results_free(&r);
    return 0;
}
