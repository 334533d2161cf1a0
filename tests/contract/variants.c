/* Generates the variants from the registered kinds and their option lists, as a user's tool would read them. */
#include <stdarg.h>
#include <unistd.h>

#include "contract/contract.h"
#include "sanitizer.h"

enum {
    VARIANTS_MAX = 256,
    FAULT_SHRINKS = 20,
    SANITIZER_SHRINKS = 4,
    SOAK_GROWS = 10,
};
#define FAILURE_MAX 1e-6
#define DEFAULT_FAILURE_MAX 1.1e-8 /* 10^-9 for no free slot, 10^-8 for equal fingerprints */
#define FILE_BYTES_MAX (UINT64_C(64) << 20)

static variant variants[VARIANTS_MAX];
static size_t variant_count;
static const char *only_kind; /* set by contract_restrict */
static char note[256];
static uint64_t noted_seed;

void note_seed(uint64_t seed) {
    noted_seed = seed;
}

void contract_note(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(note, sizeof note, format, arguments);
    va_end(arguments);
}

_Noreturn void contract_fail(const char *file, int line, const char *format, ...) {
    va_list arguments;
    fprintf(stderr, "%s:%d: ", file, line);
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n    with %s, seed %" PRIu64 "\n", note, noted_seed);
    _exit(1);
}

uint64_t scaled(uint64_t operations) {
    if (only_kind != NULL)
        operations /= FAULT_SHRINKS;
    else if (UNDER_SANITIZER)
        operations /= SANITIZER_SHRINKS;
    else if (check_soak())
        operations *= SOAK_GROWS;
    return operations != 0 ? operations : 1;
}

static void add_variant(const char *kind, const char *option, const char *value, size_t value_length) {
    CHECK(variant_count < VARIANTS_MAX);
    variant *v = &variants[variant_count++];
    v->kind = kind;
    if (option == NULL)
        return;
    int length = snprintf(v->options, sizeof v->options, "%s=%.*s", option, (int)value_length, value);
    CHECK(length > 0 && (size_t)length < sizeof v->options);
}

/* Both ends, the second value and the middle of a range. */
static void take_range(const char *kind, const char *option, const char *range, const char *dots) {
    uint64_t low = strtoull(range, NULL, 10), high = strtoull(dots + 2, NULL, 10);
    uint64_t values[] = {low, low + 1, low + (high - low) / 2, high};
    for (size_t i = 0; i < 4; i++) {
        char text[24];
        if ((i > 0 && values[i] == values[i - 1]) || values[i] > high)
            continue;
        int length = snprintf(text, sizeof text, "%" PRIu64, values[i]);
        add_variant(kind, option, text, (size_t)length);
    }
}

static void take_option(const char *kind, const kith_option *option) {
    if (strcmp(option->values, "kind") == 0) {
        for (size_t i = 0; i < kith_filter_kind_count(); i++) {
            const char *other = kith_filter_kind_at(i)->name;
            if (strcmp(other, kind) != 0)
                add_variant(kind, option->name, other, strlen(other));
        }
    } else {
        for (const char *word = option->values; *word != '\0'; word += *word == '|') {
            size_t length = strcspn(word, "|");
            const char *dots = strstr(word, "..");
            if (dots != NULL && dots < word + length)
                take_range(kind, option->name, word, dots);
            else
                add_variant(kind, option->name, word, length);
            word += length;
        }
    }
}

static void list_variants(void) {
    for (size_t i = 0; i < kith_filter_kind_count(); i++) {
        const kith_kind_info *info = kith_filter_kind_at(i);
        if (only_kind != NULL && strcmp(info->name, only_kind) != 0)
            continue;
        add_variant(info->name, NULL, NULL, 0);
        for (size_t j = 0; only_kind == NULL && j < info->option_count; j++)
            take_option(info->name, &info->options[j]);
    }
}

const variant *next_variant(const variant *v) {
    if (variant_count == 0)
        list_variants();
    const variant *next = v == NULL ? variants : v + 1;
    return next < variants + variant_count ? next : NULL;
}

const variant *next_default(const variant *v) {
    do
        v = next_variant(v);
    while (v != NULL && v->options[0] != '\0');
    return v;
}

bool contract_restrict(uint32_t capabilities, bool is_static) {
    for (size_t i = 0; only_kind == NULL && i < kith_filter_kind_count(); i++) {
        uint32_t has = kith_filter_kind_at(i)->capabilities;
        if ((has & capabilities) == capabilities && (!is_static || (has & KITH_CAN_ADD) == 0))
            only_kind = kith_filter_kind_at(i)->name;
    }
    return only_kind != NULL;
}

bool planned_at_all(const variant *v, uint64_t capacity, double rate, kith_filter_spec *spec, kith_plan *plan) {
    *spec = (kith_filter_spec)KITH_FILTER_SPEC_INIT;
    spec->kind = v->kind;
    spec->options = v->options;
    spec->capacity = capacity;
    spec->rate = rate;
    contract_note("%s %s, n = %" PRIu64 ", rate = %g", v->kind, v->options, capacity, rate);
    *plan = (kith_plan)KITH_PLAN_INIT;
    kith_status status = kith_filter_plan(spec, plan);
    if (v->options[0] == '\0')
        CHECK_OK(status);
    return status == KITH_OK && plan->file_bytes <= FILE_BYTES_MAX;
}

bool planned(const variant *v, uint64_t capacity, double rate, kith_filter_spec *spec, kith_plan *plan) {
    if (!planned_at_all(v, capacity, rate, spec, plan))
        return false;
    if (v->options[0] == '\0')
        CHECK(plan->failure <= DEFAULT_FAILURE_MAX);
    return plan->failure <= FAILURE_MAX;
}

bool planned_for_adds(const variant *v, uint64_t capacity, double rate, kith_filter_spec *spec, kith_plan *plan) {
    return planned(v, capacity, rate, spec, plan) && can(plan, KITH_CAN_ADD);
}
