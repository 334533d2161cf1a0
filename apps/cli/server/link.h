/* server/link.h: sends commands to the server or the cluster that an address names.
 *
 * In a cluster, each command goes to the node that owns the slot of its key. The map of slots is read with CLUSTER
 * SLOTS. If a slot has moved (MOVED), is being moved (ASK, TRYAGAIN), or has no node at the moment (CLUSTERDOWN, a node
 * that is loading or cannot be reached), the command is sent again, to another node or after a pause, until --timeout
 * is over. A command whose connection is lost is sent again only if it may be repeated.
 *
 * Failures end the tool with a line that names the address, the server and what it said. Error replies of other kinds
 * are returned. */
#ifndef CLI_REDIS_LINK_H
#define CLI_REDIS_LINK_H

#include <stdnoreturn.h>

#include "cli/server/connection.h"

typedef struct redis_link redis_link;

/* Connects, and reads the map of slots if the address is that of a cluster. The address must outlive the link. */
redis_link *redis_link_open(const redis_address *address, const arguments *a);
void redis_link_close(redis_link *link);

/* Runs one command on the node that owns `slot`. Never returns NULL; the caller frees the reply. */
redisReply *redis_link_call(redis_link *link, const redis_command *call, unsigned slot);

/* What must still be under a key when a transaction runs. */
typedef struct redis_guard {
    const char *key;
    size_t key_bytes;
    const char *type; /* the word of TYPE */
    const char *text; /* if it is a string, its value; else NULL */
    size_t text_bytes;
} redis_guard;

/* Runs n commands for keys of one slot as a transaction, MULTI … EXEC, and returns the reply of EXEC. With a guard (of
 * a key in this slot; may be NULL), WATCH makes the check and the transaction one step. Returns NULL if the guard's key
 * holds something else: then nothing was run. */
redisReply *redis_link_transaction(redis_link *link, const redis_guard *guard, const redis_command *commands, size_t n,
                                   unsigned slot);

/* Runs n independent commands, which may be repeated, on the nodes that own their slots, all at the same time. */
void redis_link_call_many(redis_link *link, const redis_command *commands, const unsigned *slots, size_t n,
                          redisReply **replies);

/* Ends the tool because of a reply: an error, or one that this command never gives. */
noreturn void redis_link_fail(const redis_link *link, const redis_command *call, const redisReply *reply);

/* The socket of the connection to the node that owns `slot`; -1 if there is none. For cleanup after a failure. */
int redis_link_socket(const redis_link *link, unsigned slot);

/* Returns the address, for messages. */
const char *redis_link_text(const redis_link *link);

/* Runs a command whose words are a name and a key. */
redisReply *redis_link_ask(redis_link *link, const char *name, const char *key, size_t key_bytes);

#endif
