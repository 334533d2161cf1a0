/* Checks that every instruction set of this machine gives the same results and bytes, one by one and in batches
 * of any size. */
#include "contract/contract.h"

enum { SIZE_MAX_SMALL = 300, LARGE = 20000, WORDS = LARGE / 64 + 1 };

/* The keys of a comparison; digests[i] is the digest of keys[i]. */
typedef struct input {
    key keys[2 * LARGE];
    uint64_t digests[2 * LARGE];
} input;

typedef struct results {
    uint64_t was_new[WORDS], maybe[WORDS];
    uint16_t copies[LARGE]; /* for kinds that store copies */
    size_t added, yes, removed;
    kith_status add, remove;
} results;

/* A copy of an empty filter, because planning takes longer than adding a few keys. If `empty` is NULL, the kind is
 * static, and the filter is built from the digests, as many as fit. */
static kith_filter *started(const kith_filter *empty, const kith_filter_spec *spec, const uint64_t *digests, size_t n) {
    return empty != NULL ? cloned(empty) : filled_with(spec, digests, n < spec->capacity ? n : (size_t)spec->capacity);
}

/* Counts the copies of the keys that are looked up. There is no batch operation for this. */
static void count_copies(const kith_filter *f, const input *in, size_t n, results *a) {
    bool counts = (kith_filter_capabilities(f) & KITH_CAN_COPIES) != 0;
    for (size_t i = 0; counts && i < n; i++)
        a->copies[i] = (uint16_t)kith_filter_copies(f, in->keys[n / 2 + i].bytes, sizeof in->keys[0].bytes);
}

/* All batch operations: adds (or builds) n digests, looks up half of them together with as many others, removes half of
 * them. */
static kith_filter *in_batches(const kith_filter *empty, const kith_filter_spec *spec, const input *in, size_t n,
                               results *a) {
    const uint64_t *digests = in->digests;
    kith_filter *f = started(empty, spec, digests, n);
    if (empty != NULL)
        a->add = kith_filter_add_many(f, digests, n, a->was_new, &a->added);
    a->yes = kith_filter_has_many(f, digests + n / 2, n, a->maybe);
    count_copies(f, in, n, a);
    a->remove = kith_filter_remove_many(f, digests, n / 2, &a->removed);
    return f;
}

static kith_filter *one_by_one(const kith_filter *empty, const kith_filter_spec *spec, const input *in, size_t n,
                               results *a) {
    const uint64_t *digests = in->digests;
    kith_filter *f = started(empty, spec, digests, n);
    for (; empty != NULL && a->added < n && a->add == KITH_OK; a->added += a->add == KITH_OK) {
        bool was_new = false;
        a->add = kith_filter_add_digest(f, digests[a->added], &was_new);
        a->was_new[a->added / 64] |= (uint64_t)was_new << (a->added % 64);
    }
    for (size_t i = 0; i < n; i++) {
        bool maybe = kith_filter_has_digest(f, digests[n / 2 + i]);
        a->yes += maybe;
        a->maybe[i / 64] |= (uint64_t)maybe << (i % 64);
    }
    count_copies(f, in, n, a);
    if ((kith_filter_capabilities(f) & KITH_CAN_REMOVE) == 0)
        a->remove = KITH_E_UNSUPPORTED;
    for (; a->removed < n / 2 && a->remove == KITH_OK; a->removed += a->remove == KITH_OK)
        a->remove = kith_filter_remove_digest(f, digests[a->removed]);
    return f;
}

typedef kith_filter *method(const kith_filter *empty, const kith_filter_spec *spec, const input *in, size_t n,
                            results *a);

static void compare_with(kith_filter *reference, const results *wanted, method *run, const kith_filter *empty,
                         const kith_filter_spec *spec, const input *in, size_t n) {
    static results got;
    memset(&got, 0, sizeof got);
    kith_filter *f = run(empty, spec, in, n, &got);
    CHECK(got.add == wanted->add && got.added == wanted->added);
    CHECK(memcmp(got.was_new, wanted->was_new, sizeof got.was_new) == 0);
    CHECK(got.yes == wanted->yes && memcmp(got.maybe, wanted->maybe, sizeof got.maybe) == 0);
    CHECK(memcmp(got.copies, wanted->copies, sizeof got.copies) == 0);
    CHECK(got.remove == wanted->remove && got.removed == wanted->removed);
    CHECK(equal_filters(reference, f));
    kith_filter_free(f);
}

/* Also beyond the capacity, and with repeats: every seventh key is repeated. */
static void compare(const variant *v, const kith_filter *empty, const kith_filter_spec *spec, size_t n) {
    static input in;
    static results wanted;
    for (size_t i = 0; i < 2 * n; i++) {
        in.keys[i] = i % 7 == 6 ? in.keys[i - 6] : key_at(5, i);
        in.digests[i] = kith_digest(&spec->hash, in.keys[i].bytes, sizeof in.keys[i].bytes);
    }
    CHECK_OK(kith_cpu_use("portable"));
    memset(&wanted, 0, sizeof wanted);
    kith_filter *reference = one_by_one(empty, spec, &in, n, &wanted);
    for (size_t i = 0; kith_cpu_name(i) != NULL; i++) {
        if (kith_cpu_use(kith_cpu_name(i)) != KITH_OK)
            continue;
        contract_note("%s %s, %s, n = %zu", v->kind, v->options, kith_cpu(), n);
        compare_with(reference, &wanted, in_batches, empty, spec, &in, n);
        compare_with(reference, &wanted, one_by_one, empty, spec, &in, n);
    }
    CHECK_OK(kith_cpu_use("auto"));
    kith_filter_free(reference);
}

/* Prints which instruction sets are compared: a processor need not have all that the library knows. */
static void print_instruction_sets(void) {
    printf("instruction sets:");
    for (size_t i = 0; kith_cpu_name(i) != NULL; i++)
        printf(" %s%s", kith_cpu_name(i), kith_cpu_use(kith_cpu_name(i)) == KITH_OK ? "" : " (not run)");
    printf("\n");
    CHECK_OK(kith_cpu_use("auto"));
}

void every_instruction_set_gives_the_same_results_and_bytes(void) {
    static const struct {
        uint64_t capacity;
        double rate;
        size_t from, to;
    } SIZES[] = {
        {250, 0.02, 0, SIZE_MAX_SMALL},
        {LARGE, 0.001, LARGE, LARGE},
        {10 * LARGE, 0.001, LARGE, LARGE}, /* larger than what kernels treat as in cache */
    };
    print_instruction_sets();
    EACH_VARIANT(v) for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned(v, SIZES[i].capacity, SIZES[i].rate, &spec, &plan))
            continue;
        kith_filter *empty = can(&plan, KITH_CAN_ADD) ? created(&spec) : NULL;
        for (size_t n = SIZES[i].from; n <= SIZES[i].to; n += n < 130 ? 1 : 17)
            compare(v, empty, &spec, n);
        kith_filter_free(empty);
    }
}
