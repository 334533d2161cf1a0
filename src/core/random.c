#ifdef _WIN32
#define _CRT_RAND_S
#else
#define _DEFAULT_SOURCE
#endif
#include "core/random.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32

bool kithi_random(void *bytes, size_t byte_count) {
    unsigned char *to = bytes;
    while (byte_count > 0) {
        unsigned word;
        size_t part = byte_count < sizeof word ? byte_count : sizeof word;
        if (rand_s(&word) != 0) {
            errno = EIO;
            return false;
        }
        memcpy(to, &word, part);
        to += part;
        byte_count -= part;
    }
    return true;
}

#elif defined(__APPLE__)

#include <sys/random.h>

bool kithi_random(void *bytes, size_t byte_count) {
    return getentropy(bytes, byte_count) == 0;
}

#else

#include <sys/random.h>
#include <sys/types.h>

/* A signal can interrupt the call only while the system has not yet collected its first random bytes. */
bool kithi_random(void *bytes, size_t byte_count) {
    ssize_t got;
    do
        got = getrandom(bytes, byte_count, 0);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)byte_count;
}

#endif
