/* Planted faults: the unchanged library with one call replaced at link time (--wrap, see wrap.txt).
 *
 * Most faults are in a kind's record. The three functions that return a registered record are wrapped; they return a
 * copy in which one function is faulty. The faulty function calls the real one, which it finds from the handle's record
 * or from the kind's number. The other faults replace a function of the library, public or internal, that is called
 * from another file.
 *
 * At most one fault is armed. None is until fault_arm() is called. */
#include "build/spill.h"
#include "fault/faults.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mix.h"
#include "format/notes.h"
#include "os/replace.h"
#include "kinds/kind.h"
#include "kinds/registry.h"
#include "handle/handle.h"
#include "handle/verbs.h"

enum { KINDS_MAX = 64 };

typedef struct fault {
    const char *name;
    uint32_t capabilities;       /* capabilities without which the fault has no effect */
    void (*plant)(kithi_kind *); /* NULL for a fault in a wrapped function */
} fault;

static const fault *armed;

static bool is_armed(const char *name) {
    return armed != NULL && strcmp(armed->name, name) == 0;
}

/* ---- faults in a kind's record ---- */

static const kithi_kind *true_kinds[KINDS_MAX];
static kithi_kind faulty_kinds[KINDS_MAX];
static kithi_kernels faulty_kernels[KINDS_MAX][KITHI_CPU_COUNT];

/* The kernels of a faulty record for one instruction set. */
static kithi_kernels *kernels_of(const kithi_kind *faulty, size_t cpu) {
    return &faulty_kernels[faulty - faulty_kinds][cpu];
}

static const kithi_kind *with_fault(const kithi_kind *kind) {
    if (armed == NULL || armed->plant == NULL || kind == NULL)
        return kind;
    size_t i = 0;
    while (true_kinds[i] != NULL && true_kinds[i] != kind)
        i++;
    assert(i + 1 < KINDS_MAX);
    if (true_kinds[i] == NULL) {
        true_kinds[i] = kind;
        faulty_kinds[i] = *kind;
        faulty_kinds[i].is_usual = NULL; /* faults are planted in `kernels` */
        for (size_t cpu = 0; cpu < KITHI_CPU_COUNT; cpu++)
            if (kind->kernels[cpu] != NULL) {
                faulty_kernels[i][cpu] = *kind->kernels[cpu];
                faulty_kinds[i].kernels[cpu] = &faulty_kernels[i][cpu];
            }
        armed->plant(&faulty_kinds[i]);
    }
    return &faulty_kinds[i];
}

/* Returns the real record behind the faulty one. */
static const kithi_kind *truth(const kith_filter *f) {
    return true_kinds[f->kind - faulty_kinds];
}

static const kithi_kind *truth_of_id(uint16_t id) {
    size_t i = 0;
    while (true_kinds[i]->lookup->id != id)
        i++;
    return true_kinds[i];
}

const kithi_kind *__real_kithi_kind_at(size_t index);
const kithi_kind *__wrap_kithi_kind_at(size_t index);
const kithi_kind *__wrap_kithi_kind_at(size_t index) {
    return with_fault(__real_kithi_kind_at(index));
}

const kithi_kind *__real_kithi_kind_by_id(uint64_t id);
const kithi_kind *__wrap_kithi_kind_by_id(uint64_t id);
const kithi_kind *__wrap_kithi_kind_by_id(uint64_t id) {
    return with_fault(__real_kithi_kind_by_id(id));
}

const kithi_kind *__real_kithi_kind_by_name(const char *name, size_t length);
const kithi_kind *__wrap_kithi_kind_by_name(const char *name, size_t length);
const kithi_kind *__wrap_kithi_kind_by_name(const char *name, size_t length) {
    return with_fault(__real_kithi_kind_by_name(name, length));
}

/* For each fault: the faulty function, then the function that plants it. */

/* Batches must call the faulty function, too. */
static size_t has_each(const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe) {
    size_t yes = 0;
    for (size_t i = 0; i < n; i++) {
        bool has = kithi_has(f, digests[i]);
        if (maybe != NULL && i % 64 == 0)
            maybe[i / 64] = 0;
        if (maybe != NULL)
            maybe[i / 64] |= (uint64_t)has << (i % 64);
        yes += has;
    }
    return yes;
}

static kith_status add_each(kith_filter *f, const uint64_t *digests, size_t n, uint64_t *was_new, size_t *done) {
    for (; *done < n; ++*done) {
        bool is_new = false;
        kith_status status = f->kind->kernels[KITHI_CPU_PORTABLE]->add(f, digests[*done], &is_new);
        if (status != KITH_OK)
            return status;
        if (was_new != NULL)
            was_new[*done / 64] |= (uint64_t)is_new << (*done % 64);
    }
    return KITH_OK;
}

static kith_status remove_each(kith_filter *f, const uint64_t *digests, size_t n, size_t *done) {
    for (; *done < n; ++*done) {
        kith_status status = f->kind->kernels[KITHI_CPU_PORTABLE]->remove(f, digests[*done]);
        if (status != KITH_OK)
            return status;
    }
    return KITH_OK;
}

static void plant_in_batches(kithi_kind *kind) {
    for (unsigned cpu = 0; cpu < KITHI_CPU_COUNT; cpu++) {
        kithi_kernels *k = kernels_of(kind, cpu), *portable = kernels_of(kind, KITHI_CPU_PORTABLE);
        *k =
            (kithi_kernels){has_each, add_each, remove_each, k->has, portable->add, portable->remove, portable->copies};
    }
}

static void plant_has(kithi_kind *kind, bool (*has)(const kith_filter *f, uint64_t digest)) {
    for (unsigned cpu = 0; cpu < KITHI_CPU_COUNT; cpu++)
        kernels_of(kind, cpu)->has = has;
    plant_in_batches(kind);
}

static bool truly_has(const kith_filter *f, uint64_t digest) {
    return truth(f)->kernels[kithi_cpu_now()]->has(f, digest);
}

#define HAS(fault_name, body)                                                                                          \
    static bool verb_##fault_name(const kith_filter *f, uint64_t digest)                                               \
        body static void plant_##fault_name(kithi_kind *kind) {                                                        \
        plant_has(kind, verb_##fault_name);                                                                            \
    }
#define ADD(fault_name, body)                                                                                          \
    static kith_status verb_##fault_name(kith_filter *f, uint64_t digest, bool *was_new)                               \
        body static void plant_##fault_name(kithi_kind *kind) {                                                        \
        kernels_of(kind, KITHI_CPU_PORTABLE)->add = verb_##fault_name;                                                 \
        plant_in_batches(kind);                                                                                        \
    }
#define PAIR(fault_name, verb, body)                                                                                   \
    static kith_status verb_##fault_name(kith_filter *into, const kith_filter *from)                                   \
        body static void plant_##fault_name(kithi_kind *kind) {                                                        \
        kind->verb = verb_##fault_name;                                                                                \
    }

HAS(has_forgets_some, { return kithi_mix(digest) % 256 != 0 && truly_has(f, digest); })
HAS(a_static_kind_forgets_some, { return kithi_mix(digest) % 256 != 0 && truly_has(f, digest); })
HAS(upper_half_is_lost, { return digest >> 63 == 0 && truly_has(f, digest); })
HAS(has_returns_true_too_often, { return kithi_mix(digest) % 64 == 0 || truly_has(f, digest); })
HAS(growth_raises_the_rate, { return (f->head.count > 1000 && kithi_mix(digest) % 64 == 0) || truly_has(f, digest); })
HAS(has_reads_past_the_end, {
    (void)*(const volatile uint8_t *)(f->block + f->block_bytes);
    return truly_has(f, digest);
})
HAS(body_is_trusted, {
    (void)*(const volatile uint8_t *)(f->body + kithi_load64(f->body + f->head.body_bytes / 2) % (UINT64_C(1) << 40));
    return truly_has(f, digest);
})
HAS(has_allocates, {
    void *scratch = kithi_allocate(&f->allocator, 64);
    bool result = truly_has(f, digest);
    kithi_release(&f->allocator, scratch, 64);
    return result;
})

ADD(was_new_is_always_true, {
    kith_status status = truth(f)->kernels[KITHI_CPU_PORTABLE]->add(f, digest, was_new);
    if (was_new != NULL)
        *was_new = true;
    return status;
})
ADD(count_drifts, {
    f->head.count += kithi_mix(digest) % 64 == 0;
    return truth(f)->kernels[KITHI_CPU_PORTABLE]->add(f, digest, was_new);
})
ADD(copies_are_called_full, {
    kith_status status = truth(f)->kernels[KITHI_CPU_PORTABLE]->add(f, digest, was_new);
    return status == KITH_E_COPIES ? KITH_E_FULL : status;
})
ADD(some_adds_fail, {
    return kithi_mix(digest) % 1024 == 0 ? KITH_E_FULL : truth(f)->kernels[KITHI_CPU_PORTABLE]->add(f, digest, was_new);
})
ADD(failed_add_changes_a_byte, {
    kith_status status = truth(f)->kernels[KITHI_CPU_PORTABLE]->add(f, digest, was_new);
    f->body[0] ^= (uint8_t)(status == KITH_E_FULL);
    return status;
})
ADD(adds_depend_on_the_clock, {
    static unsigned ticks;
    return truth(f)->kernels[KITHI_CPU_PORTABLE]->add(f, ++ticks % 1024 == 0 ? ~digest : digest, was_new);
})
ADD(adds_depend_on_the_count,
    { return truth(f)->kernels[KITHI_CPU_PORTABLE]->add(f, f->head.count % 2 != 0 ? ~digest : digest, was_new); })

PAIR(merge_does_nothing, merge, {
    (void)into;
    (void)from;
    return KITH_OK;
})
PAIR(merge_uses_an_estimate, merge, {
    kith_filter_stats a = KITH_FILTER_STATS_INIT;
    kith_filter_stats b = KITH_FILTER_STATS_INIT;
    truth(into)->stats(into, &a);
    truth(from)->stats(from, &b);
    bool too_many = into->head.count + from->head.count > into->head.capacity &&
                    a.keys_now + b.keys_now > 1.5 * (double)into->head.capacity;
    return too_many ? KITH_E_FULL : truth(into)->merge(into, from);
})
PAIR(merge_stops_halfway, merge, {
    kith_status status = truth(into)->merge(into, from);
    into->body[0] |= status == KITH_OK ? 0 : from->body[0] | 1;
    into->body[1] ^= (uint8_t)(status != KITH_OK);
    return status;
})
PAIR(intersect_drops_too_much, intersect, {
    kith_status status = truth(into)->intersect(into, from);
    memset(into->body, 0, (size_t)into->head.body_bytes / 4);
    return status;
})

static kith_status verb_remove_removes_two_copies(kith_filter *f, uint64_t digest) {
    kith_status status = truth(f)->kernels[KITHI_CPU_PORTABLE]->remove(f, digest);
    if (status == KITH_OK && kithi_mix(digest) % 64 == 0)
        (void)(truth(f)->kernels[KITHI_CPU_PORTABLE]->remove(f, digest) == KITH_OK && ++f->head.count);
    return status;
}
static void plant_remove_removes_two_copies(kithi_kind *kind) {
    kernels_of(kind, KITHI_CPU_PORTABLE)->remove = verb_remove_removes_two_copies;
    plant_in_batches(kind);
}

static size_t verb_a_kernel_is_wrong_in_long_batches(const kith_filter *f, const uint64_t *digests, size_t n,
                                                     uint64_t *maybe) {
    size_t yes = truth(f)->kernels[KITHI_CPU_PORTABLE]->has_many(f, digests, n, maybe);
    if (maybe != NULL && n > 100)
        maybe[1] ^= 1;
    return yes;
}
static void plant_a_kernel_is_wrong_in_long_batches(kithi_kind *kind) {
    kernels_of(kind, kithi_cpu_now())->has_many = verb_a_kernel_is_wrong_in_long_batches;
}

static kith_status verb_a_kernel_adds_another_key(kith_filter *f, uint64_t digest, bool *was_new) {
    return truth(f)->kernels[KITHI_CPU_PORTABLE]->add(f, kithi_mix(digest) % 64 == 0 ? ~digest : digest, was_new);
}
static void plant_a_kernel_adds_another_key(kithi_kind *kind) {
    kernels_of(kind, kithi_cpu_now())->add = kithi_kind_adds(kind) ? verb_a_kernel_adds_another_key : NULL;
}

/* Not planted in one instruction set only: the processor may have no other than the portable one. */
static uint64_t verb_a_kernel_miscounts_copies_at_times(const kith_filter *f, uint64_t digest) {
    static unsigned calls;
    return truth(f)->kernels[KITHI_CPU_PORTABLE]->copies(f, digest) + (++calls % 997 == 0);
}
static void plant_a_kernel_miscounts_copies_at_times(kithi_kind *kind) {
    for (size_t cpu = 0; cpu < KITHI_CPU_COUNT; cpu++)
        kernels_of(kind, cpu)->copies = verb_a_kernel_miscounts_copies_at_times;
}

static uint64_t verb_copies_stop_at_one(const kith_filter *f, uint64_t digest) {
    return truth(f)->kernels[KITHI_CPU_PORTABLE]->copies(f, digest) != 0;
}
static void plant_copies_stop_at_one(kithi_kind *kind) {
    for (size_t cpu = 0; cpu < KITHI_CPU_COUNT; cpu++)
        kernels_of(kind, cpu)->copies = verb_copies_stop_at_one;
}

static unsigned verb_shared_adds_are_not_counted(kith_filter *f, uint64_t digest, kithi_shared_step step) {
    unsigned set_bits = truth(f)->shared.add(f, digest, step);
    return step == KITHI_SHARED_SET ? 0 : set_bits;
}
static void plant_shared_adds_are_not_counted(kithi_kind *kind) {
    kind->shared.add = verb_shared_adds_are_not_counted;
}

static bool verb_look_reports_the_next_key(const kith_filter *f, uint64_t digest, kith_look look, void *context) {
    return truth(f)->look(f, digest + UINT64_MAX / 16, look, context);
}
static void plant_look_reports_the_next_key(kithi_kind *kind) {
    kind->look = verb_look_reports_the_next_key;
}

static bool verb_subset_is_reversed(const kith_filter *part, const kith_filter *whole) {
    return truth(part)->subset(whole, part);
}
static void plant_subset_is_reversed(kithi_kind *kind) {
    kind->subset = verb_subset_is_reversed;
}

static bool verb_small_sets_are_disjoint(const kith_filter *a, const kith_filter *b) {
    return truth(a)->disjoint(a, b) || a->head.count == 1 || b->head.count == 1;
}
static void plant_small_sets_are_disjoint(kithi_kind *kind) {
    kind->disjoint = verb_small_sets_are_disjoint;
}

static void verb_rate_now_is_doubled(const kith_filter *f, kith_filter_stats *stats) {
    truth(f)->stats(f, stats);
    stats->rate_now *= 2;
}
static void plant_rate_now_is_doubled(kithi_kind *kind) {
    kind->stats = verb_rate_now_is_doubled;
}

static const char *verb_check_is_blind(const kith_filter *f) {
    (void)f;
    return NULL;
}
static void plant_check_is_blind(kithi_kind *kind) {
    kind->check = verb_check_is_blind;
}

static kithi_expectation scaled_expectation(const kithi_head *head, uint64_t n, double factor) {
    kithi_expectation expected = truth_of_id(head->kind_id)->plan.expect(head, n);
    expected.rate *= factor;
    return expected;
}
static kithi_expectation verb_plan_expects_too_low_a_rate(const kithi_head *head, uint64_t n) {
    return scaled_expectation(head, n, 0.7);
}
static void plant_plan_expects_too_low_a_rate(kithi_kind *kind) {
    kind->plan.expect = verb_plan_expects_too_low_a_rate;
}

static kithi_expectation verb_plan_expects_too_high_a_rate(const kithi_head *head, uint64_t n) {
    kithi_expectation expected = truth_of_id(head->kind_id)->plan.expect(head, n);
    expected.rate = fmin(head->rate, expected.rate * 1.5);
    return expected;
}
/* Plans for twice as many keys as requested, so the actual rate is lower than the plan says. */
static kith_status choose_for_double(const kithi_request *request, kithi_head *head) {
    kithi_request doubled = *request;
    doubled.capacity *= 2;
    return truth_of_id(head->kind_id)->plan.choose(&doubled, head);
}
static void plant_plan_expects_too_high_a_rate(kithi_kind *kind) {
    kind->plan.choose = choose_for_double;
    kind->plan.expect = verb_plan_expects_too_high_a_rate;
}

/* Plans so that filters keep the promised rate only on average. */
static kith_status choose_by_the_mean(const kithi_request *request, kithi_head *head) {
    const kithi_kind *kind = truth_of_id(head->kind_id);
    double low = request->rate, high = 1; /* rates that give too many cells, and too few */
    for (unsigned i = 0; i < 40; i++) {
        kithi_request trial = *request;
        trial.rate = sqrt(low * high);
        kith_status status = kind->plan.choose(&trial, head);
        if (status != KITH_OK)
            return status;
        *(kind->plan.expect(head, request->capacity).rate <= request->rate ? &low : &high) = trial.rate;
    }
    kithi_request mean = *request;
    mean.rate = low;
    return kind->plan.choose(&mean, head);
}
static void plant_sizes_keep_the_rate_only_on_average(kithi_kind *kind) {
    kind->plan.choose = choose_by_the_mean;
}

static void plant_a_capability_is_invented(kithi_kind *kind) {
    kind->info.capabilities ^= KITH_CAN_GROW;
}

/* ---- faults in a function ---- */

#define WRAP(type, function, ...)                                                                                      \
    type __real_##function(__VA_ARGS__);                                                                               \
    type __wrap_##function(__VA_ARGS__);                                                                               \
    type __wrap_##function(__VA_ARGS__)

WRAP(kith_status, kithi_kind_options_read, const kithi_kind *kind, const char *text, uint64_t *values) {
    kith_status status = __real_kithi_kind_options_read(kind, text, values);
    return status != KITH_OK && is_armed("bad_options_are_ignored") ? __real_kithi_kind_options_read(kind, NULL, values)
                                                                    : status;
}

WRAP(kith_status, kithi_kind_shape, const kithi_kind *kind, const kithi_head *head, kithi_shape *shape) {
    kith_status status = __real_kithi_kind_shape(kind, head, shape);
    if (is_armed("a_capability_is_hidden"))
        shape->capabilities &= ~(uint32_t)KITH_CAN_MERGE;
    return status;
}

WRAP(kith_status, kithi_layers_grow, kith_filter *f) {
    kith_status status = __real_kithi_layers_grow(f);
    f->body[0] ^= (uint8_t)(status == KITH_E_MEMORY && is_armed("failed_allocation_changes_a_byte"));
    return status;
}

WRAP(kith_status, kithi_layers_verify, const kith_filter *f) {
    return is_armed("inner_checksums_are_not_verified") ? KITH_OK : __real_kithi_layers_verify(f);
}

WRAP(kith_status, kithi_filter_writable, kith_filter *f) {
    if (is_armed("lazy_bytes_are_trusted"))
        f->verified = true;
    return is_armed("views_are_writable") ? KITH_OK : __real_kithi_filter_writable(f);
}

WRAP(kith_status, kithi_header_read, const uint8_t *bytes, uint64_t byte_count, kithi_head *head) {
    kith_status status = __real_kithi_header_read(bytes, byte_count, head);
    return status == KITH_E_VERSION && is_armed("newer_version_is_called_corrupt") ? KITH_E_CORRUPT : status;
}

WRAP(kith_status, kithi_body_verify, const uint8_t *block, const kithi_head *head) {
    if (is_armed("long_bodies_are_not_verified") && head->body_bytes > KITHI_PAGE_BYTES)
        return KITH_OK;
    return is_armed("body_is_not_verified") ? KITH_OK : __real_kithi_body_verify(block, head);
}

WRAP(kith_status, kithi_plan_spec, const kith_filter_spec *spec, kithi_head *head) {
    kith_status status = __real_kithi_plan_spec(spec, head);
    if (is_armed("recipe_is_forgotten"))
        head->recipe = 0;
    return status;
}

WRAP(kith_status, kithi_notes_verify, const uint8_t *section, uint64_t section_bytes) {
    return is_armed("notes_are_not_verified") ? KITH_OK : __real_kithi_notes_verify(section, section_bytes);
}

WRAP(kith_status, kith_filter_set_notes, kith_filter *f, const kith_note *notes, size_t count) {
    return is_armed("set_notes_does_nothing") ? KITH_OK : __real_kith_filter_set_notes(f, notes, count);
}

WRAP(kith_status, kith_filter_adopt, void *bytes, size_t byte_count, unsigned flags, const kith_allocator *allocator,
     kith_filter **filter) {
    return is_armed("adopting_makes_a_view") ? kith_filter_view(bytes, byte_count, flags, allocator, filter)
                                             : __real_kith_filter_adopt(bytes, byte_count, flags, allocator, filter);
}

WRAP(uint64_t, kith_filter_memory, const kith_filter *f) {
    return __real_kith_filter_memory(f) - (is_armed("memory_forgets_the_handle") ? sizeof *f : 0);
}

WRAP(size_t, kith_filter_options, const kith_filter *f, char *text, size_t text_bytes) {
    if (!is_armed("options_are_the_defaults"))
        return __real_kith_filter_options(f, text, text_bytes);
    if (text_bytes > 0)
        *text = '\0';
    return 0;
}

WRAP(kith_status, kith_filter_stats_of, const kith_filter *f, kith_filter_stats *stats) {
    kith_status status = __real_kith_filter_stats_of(f, stats);
    if (is_armed("structs_are_written_whole") && status == KITH_OK)
        *(unsigned char *)&stats->file_bytes ^= 1;
    return status;
}

WRAP(bool, kithi_hash_equal, const kith_hash *a, const kith_hash *b) {
    return is_armed("all_hashes_are_equal") || __real_kithi_hash_equal(a, b);
}

WRAP(void, kithi_release, const kith_allocator *allocator, void *memory, uint64_t bytes) {
    if (!is_armed("handles_are_leaked") || bytes != sizeof(kith_filter))
        __real_kithi_release(allocator, memory, bytes);
}

WRAP(kith_status, kithi_replace_file_parts, const char *path, const kithi_part *parts, size_t count, bool secret) {
    if (!is_armed("save_loses_a_bit"))
        return __real_kithi_replace_file_parts(path, parts, count, secret);
    uint8_t *copy = malloc(parts[0].byte_count);
    assert(copy != NULL);
    memcpy(copy, parts[0].bytes, parts[0].byte_count);
    copy[parts[0].byte_count - 1] ^= 1;
    kithi_part changed[KITHI_BODY_PARTS_MAX + 3];
    memcpy(changed, parts, count * sizeof *parts);
    changed[0].bytes = copy;
    kith_status status = __real_kithi_replace_file_parts(path, changed, count, secret);
    free(copy);
    return status;
}

WRAP(uint64_t, kith_digest, const kith_hash *hash, const void *key, size_t key_bytes) {
    kith_hash seedless = *hash;
    if (is_armed("seed_is_ignored"))
        seedless.seed = 0;
    return __real_kith_digest(&seedless, key, key_bytes);
}

WRAP(kith_status, kith_filter_plan, const kith_filter_spec *spec, kith_plan *plan) {
    kith_filter_spec changed = *spec;
    if (is_armed("nan_passes_for_a_rate") && spec->rate != spec->rate)
        changed.rate = 0.01;
    if (is_armed("plan_wastes_bytes"))
        changed.bytes -= changed.bytes / 10;
    kith_status status = __real_kith_filter_plan(&changed, plan);
    if (is_armed("plan_forgets_the_checksums"))
        plan->file_bytes -= 8;
    return status;
}

WRAP(kith_status, kith_filter_create_like, const kith_filter *like, const kith_allocator *allocator,
     kith_filter **filter) {
    return is_armed("like_is_a_clone") ? kith_filter_clone(like, allocator, filter)
                                       : __real_kith_filter_create_like(like, allocator, filter);
}

WRAP(kith_status, kith_filter_clear, kith_filter *f) {
    bool planted = is_armed("clear_keeps_the_keys") || is_armed("static_filters_can_be_cleared");
    return planted ? KITH_OK : __real_kith_filter_clear(f);
}

WRAP(kith_status, kith_filter_build, const kith_filter_spec *spec, const uint64_t *digests, size_t n, unsigned flags,
     unsigned threads, kith_filter **filter) {
    kith_filter_spec changed = *spec;
    if (is_armed("build_counts_repeats") && changed.capacity == 0)
        changed.capacity = n;
    if (is_armed("build_skips_its_last") && n > 1)
        n--;
    if (is_armed("threads_lose_a_key") && threads > 1)
        n--;
    return __real_kith_filter_build(&changed, digests, n, flags, threads, filter);
}

WRAP(kith_status, kithi_spill_write, kithi_spill_file *s, const uint64_t *by_part, const size_t *starts,
     const uint8_t *order) {
    static uint8_t sorted[1 << 16];
    size_t n = starts[KITHI_SPILL_PARTS];
    if (!is_armed("spills_lose_their_order") || n > sizeof sorted)
        return __real_kithi_spill_write(s, by_part, starts, order);
    for (unsigned p = 0; p < KITHI_SPILL_PARTS; p++)
        memset(sorted + starts[p], (int)p, starts[p + 1] - starts[p]);
    return __real_kithi_spill_write(s, by_part, starts, sorted);
}

WRAP(size_t, kith_filter_has_many, const kith_filter *f, const uint64_t *digests, size_t n, uint64_t *maybe) {
    size_t yes = __real_kith_filter_has_many(f, digests, n, maybe);
    if (maybe != NULL && n % 64 == 1 && is_armed("batch_skips_its_last"))
        maybe[n / 64] = 0;
    return yes;
}

WRAP(kith_status, kith_filter_view, const void *bytes, size_t byte_count, unsigned flags,
     const kith_allocator *allocator, kith_filter **filter) {
    kith_status status = __real_kith_filter_view(bytes, byte_count, flags, allocator, filter);
    kithi_head head;
    uint64_t whole_bytes;
    if (status != KITH_E_TRUNCATED || !is_armed("missing_tail_is_zero") ||
        __real_kithi_header_read(bytes, byte_count, &head) != KITH_OK ||
        !kithi_block_bytes(head.body_bytes, &whole_bytes))
        return status;
    uint8_t *padded = calloc(1, (size_t)whole_bytes);
    assert(padded != NULL);
    memcpy(padded, bytes, byte_count);
    status = __real_kith_filter_view(padded, (size_t)whole_bytes, flags | KITH_OPEN_COPY | KITH_OPEN_LAZY, allocator,
                                     filter);
    free(padded);
    return status;
}

/* ---- the list ---- */

#define PLANTED(name, capabilities)                                                                                    \
    { #name, capabilities, plant_##name }
#define WRAPPED(name, capabilities)                                                                                    \
    { #name, capabilities, NULL }
static const fault FAULTS[] = {
    PLANTED(has_forgets_some, 0),
    PLANTED(a_static_kind_forgets_some, FAULT_NEEDS_STATIC),
    PLANTED(was_new_is_always_true, 0),
    PLANTED(count_drifts, 0),
    WRAPPED(clear_keeps_the_keys, 0),
    WRAPPED(like_is_a_clone, 0),
    WRAPPED(views_are_writable, 0),
    PLANTED(copies_are_called_full, KITH_CAN_COPIES),
    PLANTED(upper_half_is_lost, 0),
    PLANTED(remove_removes_two_copies, KITH_CAN_COPIES),
    PLANTED(copies_stop_at_one, KITH_CAN_COPIES),
    PLANTED(has_returns_true_too_often, 0),
    PLANTED(plan_expects_too_low_a_rate, 0),
    PLANTED(plan_expects_too_high_a_rate, 0),
    PLANTED(sizes_keep_the_rate_only_on_average, 0),
    PLANTED(growth_raises_the_rate, KITH_CAN_GROW),
    PLANTED(rate_now_is_doubled, 0),
    WRAPPED(plan_forgets_the_checksums, 0),
    WRAPPED(plan_wastes_bytes, 0),
    WRAPPED(nan_passes_for_a_rate, 0),
    WRAPPED(bad_options_are_ignored, 0),
    PLANTED(some_adds_fail, 0),
    PLANTED(failed_add_changes_a_byte, 0),
    WRAPPED(batch_skips_its_last, 0),
    PLANTED(a_kernel_is_wrong_in_long_batches, 0),
    PLANTED(a_kernel_adds_another_key, 0),
    PLANTED(a_kernel_miscounts_copies_at_times, KITH_CAN_COPIES),
    WRAPPED(build_skips_its_last, 0),
    WRAPPED(build_counts_repeats, 0),
    WRAPPED(spills_lose_their_order, 0),
    WRAPPED(threads_lose_a_key, 0),
    PLANTED(shared_adds_are_not_counted, KITH_CAN_SHARE),
    WRAPPED(save_loses_a_bit, 0),
    WRAPPED(newer_version_is_called_corrupt, 0),
    PLANTED(adds_depend_on_the_clock, 0),
    PLANTED(adds_depend_on_the_count, KITH_CAN_ANY_ORDER),
    WRAPPED(seed_is_ignored, 0),
    PLANTED(has_reads_past_the_end, 0),
    WRAPPED(missing_tail_is_zero, 0),
    WRAPPED(body_is_not_verified, 0),
    WRAPPED(long_bodies_are_not_verified, 0),
    PLANTED(body_is_trusted, 0),
    WRAPPED(inner_checksums_are_not_verified, KITH_CAN_GROW),
    WRAPPED(lazy_bytes_are_trusted, 0),
    PLANTED(check_is_blind, 0),
    WRAPPED(handles_are_leaked, 0),
    WRAPPED(failed_allocation_changes_a_byte, KITH_CAN_GROW),
    PLANTED(has_allocates, 0),
    PLANTED(merge_does_nothing, KITH_CAN_MERGE),
    PLANTED(merge_uses_an_estimate, KITH_CAN_MERGE),
    PLANTED(merge_stops_halfway, KITH_CAN_MERGE),
    PLANTED(intersect_drops_too_much, KITH_CAN_INTERSECT),
    PLANTED(look_reports_the_next_key, 0),
    PLANTED(subset_is_reversed, KITH_CAN_SUBSET),
    PLANTED(small_sets_are_disjoint, KITH_CAN_SUBSET),
    WRAPPED(all_hashes_are_equal, KITH_CAN_MERGE),
    WRAPPED(a_capability_is_hidden, KITH_CAN_MERGE),
    PLANTED(a_capability_is_invented, 0),
    WRAPPED(static_filters_can_be_cleared, FAULT_NEEDS_STATIC),
    WRAPPED(recipe_is_forgotten, KITH_CAN_MERGE),
    WRAPPED(set_notes_does_nothing, 0),
    WRAPPED(notes_are_not_verified, 0),
    WRAPPED(adopting_makes_a_view, 0),
    WRAPPED(memory_forgets_the_handle, 0),
    WRAPPED(options_are_the_defaults, 0),
    WRAPPED(structs_are_written_whole, 0),
};

static const fault *fault_named(const char *name) {
    for (size_t i = 0; i < sizeof FAULTS / sizeof *FAULTS; i++)
        if (strcmp(FAULTS[i].name, name) == 0)
            return &FAULTS[i];
    return NULL;
}

bool fault_capabilities(const char *name, uint32_t *capabilities) {
    const fault *found = fault_named(name);
    if (found != NULL)
        *capabilities = found->capabilities;
    return found != NULL;
}

void fault_arm(const char *name) {
    armed = fault_named(name);
}
