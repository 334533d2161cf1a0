/* server/slots.h: the hash slots of a cluster, and names that belong to a given slot.
 *
 * A cluster has 16,384 slots, and each node owns some of them. The slot of a key is CRC16 (XMODEM) of the key, modulo
 * 16,384. If the key contains {TAG}, only TAG is hashed, so that keys with the same tag are on the same node. */
#ifndef CLI_REDIS_SLOTS_H
#define CLI_REDIS_SLOTS_H

#include <stddef.h>
#include <stdint.h>

enum { REDIS_SLOTS = 16384 };

unsigned redis_slot(const char *key, size_t key_bytes);

/* Writes the smallest hex number whose slot is `slot`, as a tag for keys. */
typedef char redis_tag[8];
const char *redis_tag_of_slot(unsigned slot, redis_tag tag);

/* Returns a name for temporary use: the key, ":kith-push-" and hex digits, in the slot of the key. So it is on the same
 * node, the server can rename it to the key, and access rules for names that begin with the key apply to it. `start` is
 * a random number. Sets *name_bytes; the caller frees the name. */
char *redis_name_beside(const char *key, size_t key_bytes, uint64_t start, size_t *name_bytes);

#endif
