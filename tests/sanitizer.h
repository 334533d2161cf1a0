/* sanitizer.h: UNDER_SANITIZER is 1 in a build that finds errors of memory or threads, and in one that valgrind or an
 * emulator runs (KITH_TEST_SMALL_SAMPLES), and 0 otherwise. Tests that use it take smaller samples and allow more time
 * there, so `./dev test` runs them in the preset dev as well (cmake/full_run.cmake). */
#ifndef KITH_TESTS_SANITIZER_H
#define KITH_TESTS_SANITIZER_H

#if defined(KITH_TEST_SMALL_SAMPLES) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNDER_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define UNDER_SANITIZER 1
#endif
#endif
#ifndef UNDER_SANITIZER
#define UNDER_SANITIZER 0
#endif

#endif
