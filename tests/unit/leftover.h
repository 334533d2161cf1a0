/* Names of temporary files, as docs/format.md describes them. */
#ifndef LEFTOVER_H
#define LEFTOVER_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/hash.h"

typedef char leftover_name[96];

/* Writes the name that a save to `target` gives to a temporary file if it draws these six letters. Returns `name`. */
static inline const char *leftover(const char *target, const char *random, leftover_name name) {
    char hashed[512], proof[7] = "";
    int hashed_bytes = snprintf(hashed, sizeof hashed, "%s%s", target, random);
    uint64_t hash = kithi_checksum(hashed, (size_t)hashed_bytes);
    for (int i = 0; i < 6; i++)
        proof[i] = "abcdefghijklmnopqrstuvwxyz234567"[hash >> (5 * i) & 31];
    (void)snprintf(name, sizeof(leftover_name), ".%.64s.kith-%s%s", target, random, proof);
    return name;
}

#endif
