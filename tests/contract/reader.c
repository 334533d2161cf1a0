/* kith/reader.h, the lookups without the library, returns what the library returns. */
#include <kith/reader.h>

#include "contract/contract.h"

enum { N = 2000 };

void the_reader_returns_what_the_filter_returns(void) {
    static kith_reader reader;
    EACH_VARIANT(v) {
        kith_filter_spec spec;
        kith_plan plan;
        if (!planned(v, N, 0.01, &spec, &plan))
            continue;
        size_t n = can(&plan, KITH_CAN_GROW) ? 5 * N : N;
        kith_filter *f = filled(&spec, 5, 0, n);
        snapshot s = snapshot_of(f);
        CHECK_OK(kith_reader_open(s.bytes, s.byte_count, &reader));
        CHECK_OK(kith_reader_verify(&reader));
        CHECK_EQ_U64(reader.count, kith_filter_count(f));
        for (uint64_t i = 0; i < n; i++) {
            CHECK(kith_reader_has(&reader, digest_at(5, i)) == has_digest(f, digest_at(5, i)));
            CHECK(kith_reader_has(&reader, digest_at(5, ABSENT + i)) == has_digest(f, digest_at(5, ABSENT + i)));
        }
        snapshot_free(&s);
        kith_filter_free(f);
    }
}
