/* Tests of kith/builder.h: what the progress function is told, and that it can cancel every step. */
#include <pthread.h>

#include <kith/builder.h>

#include "check.h"
#include "core/mix.h"

enum { COUNT = 140000 }; /* digests: more than two times those that fit into the smallest memory limit */

static uint64_t digests[COUNT];

/* `repeats` digests at the end are equal to earlier ones. */
static void make_digests(size_t repeats) {
    for (size_t i = 0; i < COUNT; i++)
        digests[i] = kithi_mix(i < COUNT - repeats ? i + 1 : i / 2 + 1);
}

static void check_equal(kith_filter *a, kith_filter *b) {
    const void *one, *other;
    size_t one_bytes, other_bytes;
    CHECK_OK(kith_filter_bytes(a, &one, &one_bytes));
    CHECK_OK(kith_filter_bytes(b, &other, &other_bytes));
    CHECK(one_bytes == other_bytes && memcmp(one, other, one_bytes) == 0);
}

struct course {
    pthread_t caller;
    kith_build_step step;
    uint64_t done, total;
    unsigned fillings;  /* calls in the step that fills the filter */
    unsigned cancel_at; /* cancel that one of them; 0: none */
};

static bool follow(void *context, kith_build_step step, uint64_t done, uint64_t total) {
    struct course *c = context;
    CHECK(pthread_equal(pthread_self(), c->caller));
    CHECK(step >= c->step);
    if (step == KITH_BUILD_READING)
        return true;
    CHECK(done <= total);
    if (step != c->step)
        CHECK(done == 0 && c->done == c->total); /* the step before is complete */
    else if (done < c->done)
        CHECK_EQ_U64(done, 0); /* the step is repeated */
    c->step = step;
    c->done = done;
    c->total = total;
    c->fillings += step == KITH_BUILD_FILLING;
    return step != KITH_BUILD_FILLING || c->fillings != c->cancel_at;
}

/* Cancels the build at call number `cancel_at` of the last step, and finishes it then. */
static struct course followed(const kith_filter_spec *spec, uint64_t memory_bytes, unsigned threads, unsigned cancel_at,
                              kith_filter *wanted) {
    struct course course = {.caller = pthread_self(), .cancel_at = cancel_at};
    kith_build_limits limits = KITH_BUILD_LIMITS_INIT;
    limits.memory_bytes = memory_bytes;
    limits.folder = "/tmp";
    limits.threads = threads;
    limits.progress = follow;
    limits.context = &course;
    kith_builder *b = NULL;
    kith_filter *f = NULL;
    CHECK_OK(kith_builder_open(spec, KITH_BUILD_SET, &limits, &b));
    CHECK_OK(kith_builder_add_many(b, digests, COUNT, NULL));
    if (cancel_at != 0) {
        CHECK_STATUS(kith_builder_finish(b, &f), KITH_E_CANCELLED);
        CHECK(f == NULL);
    }
    CHECK_OK(kith_builder_finish(b, &f));
    CHECK(course.step == KITH_BUILD_FILLING);
    CHECK_EQ_U64(course.done, course.total);
    check_equal(wanted, f);
    kith_builder_free(b);
    kith_filter_free(f);
    return course;
}

/* With a capacity of 1.6 million, a static kind has 2 shards. */
TEST(progress_begins_at_0_and_ends_at_the_total_and_can_cancel_every_step) {
    static const char *const KINDS[] = {"cuckoo", "fuse", "ribbon"};
    enum { SHARDS = 2 };
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
        for (size_t repeats = 0; repeats <= COUNT / 4; repeats += COUNT / 4) {
            make_digests(repeats);
            kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
            spec.kind = KINDS[k];
            spec.capacity = k > 0 ? 1600000 : COUNT;
            spec.rate = 0.01;
            kith_filter *wanted = NULL;
            CHECK_OK(kith_filter_build(&spec, digests, COUNT, KITH_BUILD_SET, 1, &wanted));
            for (uint64_t memory_bytes = 0; memory_bytes <= 1; memory_bytes++) {
                struct course two = followed(&spec, memory_bytes, 2, 0, wanted);
                CHECK_EQ_U64(two.total, repeats == 0 || k > 0 || memory_bytes != 0 ? COUNT - repeats : COUNT);
                struct course one = followed(&spec, memory_bytes, 1, 0, wanted);
                CHECK(one.fillings >= 2);
                if (k > 0 && (repeats == 0 || memory_bytes != 0))
                    CHECK_EQ_U64(one.fillings, SHARDS + 1);
                for (unsigned at = 1; at <= one.fillings; at++)
                    (void)followed(&spec, memory_bytes, 1, at, wanted);
            }
            kith_filter_free(wanted);
        }
    }
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
