/* combine.c: `kith merge`, `kith intersect` and `kith compare`, which need filters of equal kind, size and hash. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kith/filter.h>

#include "cli/commands.h"
#include "cli/commands/full.h"
#include "cli/files/opened.h"
#include "cli/output/json.h"
#include "cli/output/report.h"
#include "cli/values.h"

typedef struct verb {
    const char *name;
    uint32_t capability;
    kith_status (*apply)(kith_filter *into, const kith_filter *from);
} verb;

static const verb MERGE = {"merge", KITH_CAN_MERGE, kith_filter_merge};
/* compare merges and intersects copies itself; the name is for messages. */
static const verb COMPARE = {"compare", KITH_CAN_INTERSECT, NULL};
static const verb INTERSECT = {"intersect", KITH_CAN_INTERSECT, kith_filter_intersect};

static bool keeps_copies(const kith_filter *filter) {
    return (kith_filter_capabilities(filter) & KITH_CAN_COPIES) != 0;
}

static noreturn void fail_apply(const verb *v, const char *path_a, const kith_filter *a, const char *path_b,
                                const kith_filter *b, kith_status status) {
    value_text count_a, count_b, capacity;
    switch (status) {
    case KITH_E_FULL:
        fail("cannot %s %s and %s: the result would exceed its capacity of %s (%s in the first, %s in the second%s)",
             v->name, path_a, path_b, text_of_keys(kith_filter_capacity(a), capacity),
             text_of_integer(kith_filter_count(a), count_a), text_of_integer(kith_filter_count(b), count_b),
             keeps_copies(a) ? ", and a key of both is stored twice" : "");
    case KITH_E_COPIES:
        fail("cannot %s %s and %s: a key of both would have more copies than the filter can store", v->name, path_a,
             path_b);
    case KITH_E_MISMATCH:
        fail("cannot %s %s and %s: %s", v->name, path_a, path_b,
             kith_filter_hash(a).id == KITH_HASH_SIPHASH ? "their secret keys or the options of their kind differ"
                                                         : "the options of their kind differ");
    default:
        fail("cannot %s %s and %s: %s", v->name, path_a, path_b, kith_status_text(status));
    }
}

/* Kinds that store copies would store every key a second time, which is not what a user expects of a union. */
static void check_given_once(const arguments *a, size_t which, const kith_filter *filter) {
    struct stat one, other;
    if (!keeps_copies(filter) || stat(a->operands[which], &one) != 0)
        return;
    for (size_t i = 0; i < which; i++)
        if (stat(a->operands[i], &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino)
            fail("%s: given twice: filters of kind %s store copies, so each of its keys would be stored twice",
                 a->operands[which], kith_filter_kind_name(filter));
}

/* Returns whether both are one name in one folder (x, ./x). If it is a link that is switched meanwhile, the two must
 * not become two files. */
static bool is_same_name(const char *a, const char *b) {
    char folders[2][PATH_MAX];
    struct stat st[2];
    const char *paths[] = {a, b}, *names[2];
    for (int i = 0; i < 2; i++) {
        const char *slash = strrchr(paths[i], '/');
        names[i] = slash != NULL ? slash + 1 : paths[i];
        int bytes = snprintf(folders[i], PATH_MAX, "%.*s.", (int)(names[i] - paths[i]), paths[i]);
        if (bytes >= PATH_MAX || stat(folders[i], &st[i]) != 0)
            return false;
    }
    return strcmp(names[0], names[1]) == 0 && st[0].st_dev == st[1].st_dev && st[0].st_ino == st[1].st_ino;
}

/* Opens an operand to read it. If it is the output, it is that: OUT is locked before it is read. */
static filter_file open_operand(const arguments *a, size_t which, const filter_file *out, bool *is_out) {
    *is_out = out->file != NULL && filter_of(out) != NULL && is_same_name(a->operands[which], out->path);
    return *is_out ? *out : filter_file_read(a->operands[which], a);
}

static filter_file open_output(const arguments *a) {
    bool is_read = false;
    for (size_t i = 0; i < a->operand_count; i++)
        is_read |= is_same_name(a->operands[i], a->output);
    return filter_file_open(a->output, is_read ? KITH_FILE_CHANGE : KITH_FILE_REPLACE, KITH_FILE_LOCK_DEFAULT, a);
}

static kith_filter *copy_of(const filter_file *f) {
    kith_filter *copy;
    memory_check(f->a, kith_filter_file_bytes(filter_of(f)), f->path);
    kith_status status = kith_filter_clone(filter_of(f), NULL, &copy);
    if (status != KITH_OK)
        fail_status(f->path, status);
    return copy;
}

static int combine(const arguments *a, const verb *v) {
    if (a->output == NULL)
        fail("-o OUT is missing: the file for the result");
    filter_file out = open_output(a);
    kith_filter *into = NULL;
    for (size_t i = 0; i < a->operand_count; i++) {
        bool is_out;
        filter_file from = open_operand(a, i, &out, &is_out);
        if (i == 0) {
            into = copy_of(&from);
        } else {
            filters_check_alike(v->name, v->capability, a->operands[0], into, from.path, filter_of(&from));
            check_given_once(a, i, filter_of(&from));
            kith_status status = v->apply(into, filter_of(&from));
            if (status != KITH_OK)
                fail_apply(v, a->operands[0], into, from.path, filter_of(&from), status);
        }
        if (!is_out)
            filter_file_close(&from);
    }
    full_note_rate(a->output, into, false);
    filter_file_save(&out, into);
    filter_file_close(&out);
    return EXIT_FOUND;
}

int command_merge(const arguments *a) {
    return combine(a, &MERGE);
}

int command_intersect(const arguments *a) {
    return combine(a, &INTERSECT);
}

/* ---- compare ---- */

static kith_filter_stats stats_must(const char *path, const kith_filter *filter) {
    kith_filter_stats stats = KITH_FILTER_STATS_INIT;
    kith_status status = kith_filter_stats_of(filter, &stats);
    if (status != KITH_OK)
        fail_status(path, status);
    return stats;
}

/* The number of keys that set `used` of m bits, k bits per key, if the bits are independent: -m/k ln(1 - used/m). */
static double keys_at(double used, double bits, unsigned k) {
    return used < bits ? -bits / k * log1p(-used / bits) : bits;
}

/* Estimates the number of keys of the union from the bits that are set in either filter. If the union exceeds the
 * capacity, merge refuses it, but its number of set bits follows from the number of common bits. The plain formula for
 * that number is less exact than the library's estimate for some kinds; a factor computed from the two filters corrects
 * it. */
static double union_keys(const arguments *a, const kith_filter *fa, const kith_filter *fb) {
    const char *const *paths = a->operands;
    kith_filter *work;
    kith_status status = kith_filter_clone(fa, NULL, &work);
    if (status != KITH_OK)
        fail_status(paths[0], status);
    status = kith_filter_merge(work, fb);
    if (status == KITH_OK) {
        double keys = stats_must(paths[0], work).keys_now;
        kith_filter_free(work);
        return keys;
    }
    if (status != KITH_E_FULL)
        fail_apply(&COMPARE, paths[0], fa, paths[1], fb, status);
    status = kith_filter_intersect(work, fb);
    if (status != KITH_OK)
        fail_apply(&COMPARE, paths[0], fa, paths[1], fb, status);
    kith_filter_stats sa = stats_must(paths[0], fa), sb = stats_must(paths[1], fb), common = stats_must(paths[0], work);
    kith_filter_free(work);
    kith_plan plan = KITH_PLAN_INIT;
    if (kith_filter_plan_of(fa, &plan) != KITH_OK || plan.hashes == 0)
        fail("%s: cannot estimate the size of the union", paths[0]);
    double bits = (double)sa.cells;
    double used_a = (double)sa.cells_used, used_b = (double)sb.cells_used;
    double plain = keys_at(used_a, bits, plan.hashes) + keys_at(used_b, bits, plan.hashes);
    double correction = plain > 0 ? (sa.keys_now + sb.keys_now) / plain : 1;
    return keys_at(used_a + used_b - (double)common.cells_used, bits, plan.hashes) * correction;
}

/* How two sets are related, as far as the bits show. The numbers are exit statuses. */
typedef enum relation {
    RELATION_EQUAL = EXIT_FOUND,
    RELATION_SUBSET = 1,
    RELATION_SUPERSET = 3, /* 2 is an error */
    RELATION_DISJOINT = 4,
    RELATION_NONE = 5,
} relation;

static const char *text_of_relation(relation r) {
    switch (r) {
    case RELATION_EQUAL:
        return "the two sets may be equal";
    case RELATION_SUBSET:
        return "the first may be a subset of the second";
    case RELATION_SUPERSET:
        return "the second may be a subset of the first";
    case RELATION_DISJOINT:
        return "neither: the two sets have no key in common";
    case RELATION_NONE:
        break;
    }
    return "neither is a subset of the other";
}

int command_compare(const arguments *a) {
    const char *const *paths = a->operands;
    filter_file files[] = {filter_file_read(paths[0], a), filter_file_read(paths[1], a)};
    const kith_filter *fa = filter_of(&files[0]), *fb = filter_of(&files[1]);
    filters_check_alike(COMPARE.name, COMPARE.capability, paths[0], fa, paths[1], fb);
    double keys_a = stats_must(paths[0], fa).keys_now, keys_b = stats_must(paths[1], fb).keys_now;
    memory_check(a, stats_must(paths[0], fa).file_bytes, "the comparison");
    double both = union_keys(a, fa, fb);
    /* The estimates may violate bounds that the true numbers keep. */
    both = fmax(both, fmax(keys_a, keys_b));
    double common = fmax(0, fmin(keys_a + keys_b - both, fmin(keys_a, keys_b)));
    double jaccard = both > 0 ? common / both : 1;
    bool first_in_second, second_in_first, disjoint;
    if (kith_filter_subset(fa, fb, &first_in_second) != KITH_OK ||
        kith_filter_subset(fb, fa, &second_in_first) != KITH_OK || kith_filter_disjoint(fa, fb, &disjoint) != KITH_OK)
        fail("cannot compare %s and %s", paths[0], paths[1]);
    relation r = first_in_second && second_in_first ? RELATION_EQUAL
                 : first_in_second                  ? RELATION_SUBSET
                 : second_in_first                  ? RELATION_SUPERSET
                 : disjoint                         ? RELATION_DISJOINT
                                                    : RELATION_NONE;

    if (a->json) {
        json_open(NULL, '{');
        json_open("files", '[');
        json_text(NULL, paths[0]);
        json_text(NULL, paths[1]);
        json_close(']');
        json_open("estimated_keys", '[');
        json_number(NULL, keys_a);
        json_number(NULL, keys_b);
        json_close(']');
        json_number("union", both);
        json_number("intersection", common);
        json_number("jaccard", jaccard);
        json_bool("first_may_be_subset", first_in_second);
        json_bool("second_may_be_subset", second_in_first);
        json_bool("disjoint", disjoint);
        json_close('}');
        json_end();
    } else {
        value_text text;
        out_plain("estimated keys  about %s in %s", text_of_integer((uint64_t)llround(keys_a), text), paths[0]);
        out_text("\n");
        out_plain("estimated keys  about %s in %s", text_of_integer((uint64_t)llround(keys_b), text), paths[1]);
        out_text("\n");
        out_text("union           about %s\n", text_of_integer((uint64_t)llround(both), text));
        out_text("intersection    about %s\n", text_of_integer((uint64_t)llround(common), text));
        out_text("jaccard         about %.4f\n", jaccard);
        out_text("subset          %s\n", text_of_relation(r));
    }
    filter_file_close(&files[0]);
    filter_file_close(&files[1]);
    return a->exit_code ? (int)r : EXIT_FOUND;
}
