/* Bytes as a spec: kind, needs, quantities and an option string, given to kith_filter_plan and, where the plan is
 * small, to kith_filter_create. Every result is a consistent plan or an error.
 *
 *     0        kind: an index, or 255 for none, or 254 for a name out of the options' text
 *     1        which of capacity, rate and bytes are given (bits 0 to 2), max_bytes (bit 3), needs (bit 4)
 *     2 … 33   capacity, rate, bytes, max_bytes: words as they are
 *     34 …     the options' text, if any */
#include <kith/kith.h>

#include "core/bits.h"
#include "fuzz/target.h"

enum { FIXED_BYTES = 34, TEXT_MAX = 100, CREATED_BYTES_MAX = 1 << 20 };

/* The errors that kith/plan.h names. */
static bool is_refusal(kith_status status) {
    switch (status) {
    case KITH_E_ARGUMENT:
    case KITH_E_GIVEN:
    case KITH_E_STRUCT:
    case KITH_E_RECIPE:
    case KITH_E_NOTE:
    case KITH_E_NOTES:
    case KITH_E_ADDRESS:
    case KITH_E_FINGERPRINT:
    case KITH_E_KIND:
    case KITH_E_UNSUPPORTED:
    case KITH_E_OPTION:
    case KITH_E_OPTION_TWICE:
    case KITH_E_OPTION_VALUE:
    case KITH_E_OPTION_KIND:
    case KITH_E_OPTION_FIT:
    case KITH_E_CAPACITY:
    case KITH_E_RATE:
    case KITH_E_TOO_LARGE:
    case KITH_E_TOO_SMALL:
    case KITH_E_DIGEST_BITS:
        return true;
    default:
        return false;
    }
}

static void check_plan(const kith_filter_spec *spec, const kith_plan *plan) {
    HOLD(plan->capacity > 0 && plan->rate > 0 && plan->rate < 1);
    HOLD(plan->expected_rate > 0 && plan->expected_rate <= plan->rate);
    HOLD(plan->failure >= 0 && plan->failure <= 1);
    HOLD(plan->cells > 0 && plan->cell_bits > 0 && plan->lines > 0 && plan->max_copies > 0);
    HOLD((plan->capabilities & spec->needs) == spec->needs);
    HOLD(spec->capacity == 0 || plan->capacity == spec->capacity);
    HOLD(spec->rate == 0 || plan->rate == spec->rate);
    HOLD(spec->bytes == 0 || plan->file_bytes <= spec->bytes);
    HOLD(spec->max_bytes == 0 || plan->file_bytes <= spec->max_bytes);
}

static void check_filter(const kith_filter_spec *spec, const kith_plan *plan) {
    kith_filter *filter, *view;
    const void *bytes;
    size_t byte_count;
    if ((plan->capabilities & KITH_CAN_ADD) != 0) {
        HOLD(kith_filter_create(spec, &filter) == KITH_OK);
        HOLD(kith_filter_add(filter, "key", 3, NULL) == KITH_OK);
    } else {
        uint64_t digest = kith_digest(&spec->hash, "key", 3);
        HOLD(kith_filter_create(spec, &filter) == KITH_E_UNSUPPORTED);
        HOLD(kith_filter_build(spec, &digest, 1, KITH_BUILD_SET, 1, &filter) == KITH_OK);
    }
    HOLD(kith_filter_has(filter, "key", 3));
    HOLD(kith_filter_bytes(filter, &bytes, &byte_count) == KITH_OK && byte_count == plan->file_bytes);
    HOLD(kith_filter_view(bytes, byte_count, KITH_OPEN_DEFAULT, NULL, &view) == KITH_OK);
    HOLD(kith_filter_has(view, "key", 3));
    kith_filter_free(view);
    kith_filter_free(filter);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < FIXED_BYTES)
        return 0;
    char text[TEXT_MAX + 1] = {0};
    size_t text_bytes = size - FIXED_BYTES < TEXT_MAX ? size - FIXED_BYTES : TEXT_MAX;
    if (text_bytes != 0)
        memcpy(text, data + FIXED_BYTES, text_bytes);
    kith_filter_spec spec = KITH_FILTER_SPEC_INIT;
    kith_plan plan = KITH_PLAN_INIT;
    if (data[0] == 254)
        spec.kind = text;
    else if (data[0] != 255)
        spec.kind = kith_filter_kind_at(data[0] % kith_filter_kind_count())->name;
    if (text_bytes != 0 && data[0] != 254)
        spec.options = text;
    if ((data[1] & 1) != 0)
        spec.capacity = kithi_load64(data + 2);
    if ((data[1] & 2) != 0) {
        uint64_t bits = kithi_load64(data + 10);
        memcpy(&spec.rate, &bits, sizeof spec.rate);
    }
    if ((data[1] & 4) != 0)
        spec.bytes = kithi_load64(data + 18);
    if ((data[1] & 8) != 0)
        spec.max_bytes = kithi_load64(data + 26);
    if ((data[1] & 16) != 0)
        spec.needs = kithi_load16(data + 26) & 511;
    spec.final = (data[1] & 32) != 0;
    kith_status status = kith_filter_plan(&spec, &plan);
    if (status != KITH_OK) {
        HOLD(is_refusal(status));
        return 0;
    }
    check_plan(&spec, &plan);
    if (plan.file_bytes <= CREATED_BYTES_MAX)
        check_filter(&spec, &plan);
    return 0;
}
