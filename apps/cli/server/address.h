/* server/address.h: the address of a key on a Redis or Valkey server.
 *
 *     redis://[USER@]HOST[:PORT][/DB]/KEY           one server
 *     redis+cluster://[USER@]HOST[:PORT]/KEY        a cluster, of which HOST is any node
 *
 * USER and KEY may contain %XX for any byte; HOST may be an IPv6 address in brackets. If the path begins with a number
 * and has a second part, the number is the database; the rest is the key, which may contain slashes. */
#ifndef CLI_REDIS_ADDRESS_H
#define CLI_REDIS_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct redis_address {
    const char *text; /* as given, for messages; it has no password */
    bool cluster;
    char *user; /* NULL: none */
    char *host;
    unsigned port;
    unsigned database;
    char *key; /* ends with a zero byte, which does not belong to it; it may contain others */
    size_t key_bytes;
} redis_address;

/* Returns true if the text is meant as an address and not as the name of a file: redis://, redis+anything://,
 * rediss://. */
bool redis_is_address(const char *text);

/* Reads an address, which keeps `text`. Ends the tool if it is invalid, or if it contains a password: command lines can
 * be read by other users of the machine. */
void redis_address_read(const char *text, redis_address *address);
void redis_address_free(redis_address *address);

#endif
