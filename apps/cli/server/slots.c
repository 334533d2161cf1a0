/* server/slots.c: the hash slots of a cluster; see server/slots.h. */
#include "cli/server/slots.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/output/report.h"

static uint16_t crc16(const char *bytes, size_t byte_count) {
    uint16_t crc = 0;
    for (size_t i = 0; i < byte_count; i++) {
        crc = (uint16_t)(crc ^ (uint16_t)((unsigned char)bytes[i] << 8));
        for (int bit = 0; bit < 8; bit++)
            crc = (uint16_t)((crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1);
    }
    return crc;
}

unsigned redis_slot(const char *key, size_t key_bytes) {
    const char *open = memchr(key, '{', key_bytes);
    if (open != NULL) {
        const char *tag = open + 1;
        const char *close = memchr(tag, '}', (size_t)(key + key_bytes - tag));
        if (close != NULL && close != tag)
            return crc16(tag, (size_t)(close - tag)) % REDIS_SLOTS;
    }
    return crc16(key, key_bytes) % REDIS_SLOTS;
}

const char *redis_tag_of_slot(unsigned slot, redis_tag tag) {
    for (unsigned number = 0;; number++) {
        int bytes = snprintf(tag, sizeof(redis_tag), "%x", number);
        if (redis_slot(tag, (size_t)bytes) == slot)
            return tag;
    }
}

/* One name in 16,384 is in the right slot, unless the key has a tag: then all are. */
char *redis_name_beside(const char *key, size_t key_bytes, uint64_t start, size_t *name_bytes) {
    enum { SUFFIX_BYTES = 40 };
    unsigned slot = redis_slot(key, key_bytes);
    char *name = allocate(key_bytes + SUFFIX_BYTES);
    memcpy(name, key, key_bytes);
    for (uint64_t number = start;; number++) {
        *name_bytes = key_bytes + (size_t)snprintf(name + key_bytes, SUFFIX_BYTES, ":kith-push-%016" PRIx64, number);
        if (redis_slot(name, *name_bytes) == slot)
            return name;
    }
}
