/* Remembers the plans of layers. layers plan each of their layers whenever a block is opened or checked, or grows. That
 * takes longer than everything else a target does, and the result is always the same. Linked with --wrap=kithi_plan,
 * which layers call. */
#include <string.h>

#include "plan/planner.h"
#include "splitmix.h"

enum { MEMO_ENTRIES = 1 << 12 };

typedef struct memo_entry {
    const kithi_kind *kind; /* NULL: the entry is free */
    uint64_t options[KITHI_OPTIONS_MAX];
    uint64_t capacity;
    double rate;
    bool is_public;
    kith_status status;
    kithi_head head;
    kithi_shape shape;
} memo_entry;

static memo_entry memo[MEMO_ENTRIES];

kith_status __real_kithi_plan(const kithi_kind *kind, const kithi_request *request, kithi_head *head,
                              kithi_shape *shape);
kith_status __wrap_kithi_plan(const kithi_kind *kind, const kithi_request *request, kithi_head *head,
                              kithi_shape *shape);
kith_status __wrap_kithi_plan(const kithi_kind *kind, const kithi_request *request, kithi_head *head,
                              kithi_shape *shape) {
    const uint64_t *options = request->options;
    uint64_t hash, rate_bits, capacity = request->capacity;
    double rate = request->rate;
    memcpy(&rate_bits, &rate, sizeof rate_bits);
    hash = splitmix_mix(kind->lookup->id ^ (uint64_t)request->is_public << 16 ^
                        splitmix_mix(capacity ^ splitmix_mix(rate_bits)));
    for (unsigned i = 0; i < KITHI_OPTIONS_MAX; i++)
        hash = splitmix_mix(hash ^ options[i]);
    memo_entry *e = &memo[hash % MEMO_ENTRIES];
    if (e->kind != kind || e->capacity != capacity || e->is_public != request->is_public ||
        memcmp(&e->rate, &rate, sizeof rate) != 0 || memcmp(e->options, options, sizeof e->options) != 0) {
        memo_entry made = {.kind = kind, .capacity = capacity, .rate = rate, .is_public = request->is_public};
        memcpy(made.options, options, sizeof made.options);
        made.status = __real_kithi_plan(kind, request, &made.head, &made.shape);
        *e = made;
    }
    if (e->status == KITH_OK) {
        *head = e->head;
        *shape = e->shape;
    }
    return e->status;
}
