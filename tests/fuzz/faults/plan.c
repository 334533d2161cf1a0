/* The size of a small filter is planned without its last checksum. */
#include <kith/plan.h>

#include "fuzz/faults/faults.h"

kith_status __real_kith_filter_plan(const kith_filter_spec *spec, kith_plan *plan);
kith_status __wrap_kith_filter_plan(const kith_filter_spec *spec, kith_plan *plan);
kith_status __wrap_kith_filter_plan(const kith_filter_spec *spec, kith_plan *plan) {
    kith_status status = __real_kith_filter_plan(spec, plan);
    if (status == KITH_OK && is_planted("plans_too_few_bytes") && plan->file_bytes < 4096)
        plan->file_bytes -= 8;
    return status;
}
