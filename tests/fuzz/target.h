/* fuzz/target.h: what the fuzz targets share: how they read their input, how they report a finding, and their
 * memory. */
#ifndef KITH_TESTS_FUZZ_TARGET_H
#define KITH_TESTS_FUZZ_TARGET_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kith/plan.h>

/* Called by libFuzzer, and by replay.c, for each input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A finding: something that is promised does not hold. */
#define HOLD(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);                             \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* ---- the input as a tape ----
 *
 * A tape is read from front to back. After its end it reads as zeros, so every input is a valid one. */

typedef struct tape {
    const uint8_t *at, *end;
} tape;

static inline tape tape_of(const uint8_t *data, size_t size) {
    return (tape){data, data + size};
}

static inline bool tape_ended(const tape *t) {
    return t->at == t->end;
}

static inline uint8_t tape_byte(tape *t) {
    return t->at < t->end ? *t->at++ : 0;
}

static inline uint64_t tape_word(tape *t) {
    uint64_t word = 0;
    for (unsigned i = 0; i < 8; i++)
        word |= (uint64_t)tape_byte(t) << (8 * i);
    return word;
}

/* ---- variants ---- */

/* Writes variant number `index` of a kind: "name=value", with one value of one of its options. If the values are words,
 * each word gives a variant. A range gives four: both ends, the second value and the middle. Returns false if the kind
 * has no variant with this number. */
static inline bool fuzz_variant(const kith_kind_info *info, size_t index, char *text, size_t text_bytes) {
    for (size_t i = 0; i < info->option_count; i++) {
        const kith_option *option = &info->options[i];
        if (strcmp(option->values, "kind") == 0) {
            if (index < kith_filter_kind_count()) {
                (void)snprintf(text, text_bytes, "%s=%s", option->name, kith_filter_kind_at(index)->name);
                return true;
            }
            index -= kith_filter_kind_count();
            continue;
        }
        for (const char *word = option->values; *word != '\0'; word += *word == '|') {
            size_t length = strcspn(word, "|");
            const char *dots = strstr(word, "..");
            bool is_range = dots != NULL && dots < word + length;
            if (index < (is_range ? 4 : 1)) {
                uint64_t low = strtoull(word, NULL, 10), high = is_range ? strtoull(dots + 2, NULL, 10) : 0;
                const uint64_t numbers[] = {low, low + 1, low + (high - low) / 2, high};
                if (is_range)
                    (void)snprintf(text, text_bytes, "%s=%" PRIu64, option->name, numbers[index]);
                else
                    (void)snprintf(text, text_bytes, "%s=%.*s", option->name, (int)length, word);
                return true;
            }
            index -= is_range ? 4 : 1;
            word += length;
        }
    }
    return false;
}

/* ---- memory ----
 *
 * An allocator with a limit, so that a forged file which asks for much memory is refused at once. It counts what is
 * allocated: HOLD(fuzz_live_bytes == 0) at the end of a target finds leaks and releases with a wrong size. */

enum { FUZZ_MEMORY_MAX = 1 << 22 };

static size_t fuzz_live_bytes;

static void *fuzz_allocate(void *context, size_t bytes, size_t alignment) {
    (void)context, (void)alignment;
    if (bytes > FUZZ_MEMORY_MAX - fuzz_live_bytes)
        return NULL;
    uint8_t *raw = calloc(1, bytes + 64);
    if (raw == NULL)
        return NULL;
    fuzz_live_bytes += bytes;
    size_t distance = 64 - ((uintptr_t)raw & 63);
    raw[distance - 1] = (uint8_t)distance;
    return raw + distance;
}

static void fuzz_release(void *context, void *memory, size_t bytes) {
    (void)context;
    uint8_t *given = memory;
    fuzz_live_bytes -= bytes;
    free(given - given[-1]);
}

static const kith_allocator FUZZ_ALLOCATOR = {fuzz_allocate, fuzz_release, NULL};

#endif
