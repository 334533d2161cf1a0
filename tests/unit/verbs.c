/* The functions that a kind may leave out, and what is used instead: the record of a real kind, reduced to what it must
 * have. */
#include <kith/kith.h>

#include "check.h"
#include "kinds/kind.h"
#include "kinds/registry.h"
#include "unit/small_filter.h"
#include "handle/verbs.h"

enum { DIGESTS = 150 }; /* more than two words of a bitmap */

static kithi_kind reduced; /* of the filter below */

/* A filter whose kind has only single operations, for any processor. */
static kith_filter *reduced_filter(const char *kind) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter;
    spec.kind = kind;
    spec.capacity = DIGESTS;
    spec.rate = .01;
    CHECK_OK(kith_filter_create(&spec, &filter));
    reduced = *filter->kind;
    static kithi_kernels portable;
    portable = *filter->kind->kernels[KITHI_CPU_PORTABLE];
    portable.has_many = NULL;
    portable.add_many = NULL;
    portable.remove_many = NULL;
    for (size_t i = 0; i < LENGTH(reduced.kernels); i++)
        reduced.kernels[i] = &portable;
    reduced.is_usual = NULL;
    filter->kind = &reduced;
    filter->operations->bind(filter);
    return filter;
}

/* A filter of a kind that has faster functions for some parameters, with these options. */
static kith_filter *filter_with(const char *kind, const char *options) {
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_filter *filter;
    spec.kind = kind;
    spec.capacity = DIGESTS;
    spec.rate = .01;
    spec.options = options;
    CHECK_OK(kith_filter_create(&spec, &filter));
    return filter;
}

TEST(faster_functions_are_used_only_for_the_parameters_that_they_are_compiled_for) {
    static const struct {
        const char *kind, *usual, *other;
    } KINDS[] = {{"bloom", "k=7", "k=8"}, {"blocked", "lanes=8", "lanes=16"}};
    for (size_t k = 0; k < LENGTH(KINDS); k++) {
        kith_filter *usual = filter_with(KINDS[k].kind, KINDS[k].usual);
        kith_filter *other = filter_with(KINDS[k].kind, KINDS[k].other);
        const kithi_kind *kind = usual->kind;
        const kithi_kernels *faster = kind->usual[kithi_cpu_now()];
        CHECK(usual->verbs.has == faster->has && usual->verbs.add == faster->add);
        CHECK(other->verbs.has != faster->has && other->verbs.add != faster->add);
        kith_filter_free(usual);
        kith_filter_free(other);
    }
}

static void make_digests(uint64_t *digests, uint64_t first) {
    kith_hash hash = {.id = KITH_HASH_XXH3};
    for (uint64_t i = 0; i < DIGESTS; i++)
        digests[i] = kith_digest(&hash, &(uint64_t){first + i}, sizeof(uint64_t));
}

TEST(batches_of_a_kind_without_them_are_single_operations) {
    static const char *const KINDS[] = {"bloom", "cuckoo"};
    for (size_t k = 0; k < LENGTH(KINDS); k++) {
        kith_filter *filter = reduced_filter(KINDS[k]);
        uint64_t digests[DIGESTS], bits[3];
        size_t done = 0;
        make_digests(digests, 0);
        CHECK_OK(filter->verbs.add_many(filter, digests, DIGESTS, NULL, &done));
        CHECK_EQ_U64(done, DIGESTS);
        for (unsigned with_bits = 0; with_bits <= 1; with_bits++)
            CHECK_EQ_U64(filter->verbs.has_many(filter, digests, DIGESTS, with_bits ? bits : NULL), DIGESTS);
        CHECK(bits[0] == UINT64_MAX && bits[1] == UINT64_MAX && bits[2] == (UINT64_C(1) << (DIGESTS - 128)) - 1);
        uint64_t others[DIGESTS];
        make_digests(others, 1000);
        memset(bits, 0xff, sizeof bits);
        size_t yes = filter->verbs.has_many(filter, others, DIGESTS, bits), counted = 0;
        CHECK(yes < 20);
        for (size_t i = 0; i < DIGESTS; i++) {
            bool has = (bits[i / 64] >> (i % 64) & 1) != 0;
            CHECK(has == kithi_has(filter, others[i]));
            counted += has;
        }
        CHECK_EQ_U64(counted, yes);
        done = 0;
        CHECK_STATUS(filter->verbs.add_many(filter, others, DIGESTS, NULL, &done), KITH_E_FULL);
        CHECK(done < DIGESTS);
        kith_filter_free(filter);
    }
}

TEST(removals_one_by_one_stop_at_the_first_failure) {
    kith_filter *filter = reduced_filter("cuckoo");
    uint64_t digests[DIGESTS];
    size_t done = 0;
    make_digests(digests, 0);
    CHECK_OK(filter->verbs.add_many(filter, digests, 10, NULL, &done));
    done = 0;
    CHECK_OK(filter->verbs.remove_many(filter, digests, 7, &done));
    CHECK_EQ_U64(done, 7);
    done = 0;
    CHECK_STATUS(filter->verbs.remove_many(filter, digests + 7, DIGESTS - 7, &done), KITH_E_ABSENT);
    CHECK_EQ_U64(done, 3);
    CHECK_EQ_U64(kith_filter_count(filter), 0);
    kith_filter_free(filter);
}

TEST(a_kind_has_a_group_of_functions_as_a_whole_or_not_at_all) {
    for (size_t i = 0; i < kith_filter_kind_count(); i++) {
        const kithi_kind *kind = kithi_kind_at(i);
        bool is_static = !kind->lookup->adds, shares = (kind->info.capabilities & KITH_CAN_SHARE) != 0;
        CHECK((kind->build.region != NULL) == is_static && (kind->build.bytes != NULL) == is_static);
        CHECK((kind->shared.add != NULL) == shares && (kind->shared.prefetch != NULL) == shares);
        CHECK((kind->repair.salvage != NULL) == (kind->repair.recount != NULL));
        CHECK((kind->before_fill != NULL) == (kind->after_fill != NULL));
        CHECK(kind->plan.choose != NULL && kind->plan.option != NULL && kind->plan.expect != NULL);
        CHECK(kind->lookup->decode != NULL && kind->lookup->shape != NULL);
    }
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
