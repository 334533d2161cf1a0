/* Tests of core/alloc.c: zeroed and aligned memory, from the C library or from the caller's allocator. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "check.h"
#include "core/alloc.h"
#include "unit/memory.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* A sanitizer ends the process when an allocation is too large, unless this option makes it return NULL like the C
 * library. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}

TEST(memory_of_any_size_is_zeroed_and_aligned_to_a_cache_line) {
    static const size_t SIZES[] = {1, 2, 7, 8, 63, 64, 65, 100, 191, 4095, 4096, 4097, 200000, 5000000};
    kith_allocator allocator = kithi_allocator_or_default(NULL);
    for (unsigned round = 0; round < 3; round++) { /* repeated, so that freed memory is reused */
        for (size_t i = 0; i < LENGTH(SIZES); i++) {
            uint8_t *block = kithi_allocate(&allocator, SIZES[i]);
            CHECK(block != NULL && (uintptr_t)block % 64 == 0);
            uint8_t any = 0;
            for (size_t at = 0; at < SIZES[i]; at++)
                any |= block[at];
            CHECK(any == 0);
            memset(block, 0xff, SIZES[i]);
            kithi_release(&allocator, block, SIZES[i]);
        }
    }
}

TEST(every_documented_alignment_is_kept) {
    kith_allocator allocator = kithi_allocator_or_default(NULL);
    for (size_t alignment = 1; alignment <= 64; alignment *= 2) {
        for (size_t bytes = 1; bytes < 300; bytes += 13) {
            uint8_t *block = allocator.allocate(allocator.context, bytes, alignment);
            CHECK(block != NULL && (uintptr_t)block % alignment == 0);
            memset(block, 0xff, bytes);
            allocator.release(allocator.context, block, bytes);
        }
    }
}

TEST(impossible_sizes_return_null_and_do_not_wrap) {
    static const uint64_t SIZES[] = {
        0, UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 63, UINT64_MAX - 64, UINT64_MAX - 65, UINT64_C(1) << 63};
    kith_allocator allocator = kithi_allocator_or_default(NULL);
    for (size_t i = 0; i < LENGTH(SIZES); i++)
        CHECK(kithi_allocate(&allocator, SIZES[i]) == NULL);
    if (SIZE_MAX < UINT64_MAX) {
        struct memory memory = {0};
        kith_allocator counted = memory_allocator(&memory);
        CHECK(kithi_allocate(&counted, (uint64_t)SIZE_MAX + 2) == NULL);
        CHECK_EQ_U64(memory.calls, 0);
    }
}

TEST(releasing_nothing_does_nothing) {
    kith_allocator allocator = kithi_allocator_or_default(NULL);
    kithi_release(&allocator, NULL, 100);
}

TEST(the_callers_allocator_is_used_and_release_gets_the_allocated_size) {
    struct memory memory = {0};
    kith_allocator given = memory_allocator(&memory);
    kith_allocator allocator = kithi_allocator_or_default(&given);
    void *a = kithi_allocate(&allocator, 1000), *b = kithi_allocate(&allocator, 1);
    CHECK(a != NULL && b != NULL && memory.calls == 2 && memory.live_bytes == 1001);
    CHECK((uintptr_t)a % 64 == 0 && (uintptr_t)b % 64 == 0);
    kithi_release(&allocator, a, 1000);
    kithi_release(&allocator, b, 1);
    kithi_release(&allocator, NULL, 7);
    CHECK(memory.live_bytes == 0 && memory.live_blocks == 0 && memory.peak_bytes == 1001);
    memory.fail_at = 3;
    CHECK(kithi_allocate(&allocator, 1) == NULL);
}

int main(int argc, char **argv) {
    return check_main(argc, argv);
}
