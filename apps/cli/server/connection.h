/* server/connection.h: a connection to one server, and the commands that are sent over it. It speaks RESP2 through
 * hiredis, whose replies the callers use and free (freeReplyObject). */
#ifndef CLI_REDIS_CONNECTION_H
#define CLI_REDIS_CONNECTION_H

#include <hiredis/hiredis.h>

#include "cli/options.h"
#include "cli/server/address.h"

/* What every connection of a run uses. */
typedef struct redis_login {
    const char *user; /* NULL: the default user */
    char *password;   /* NULL: none */
    unsigned database;
    unsigned timeout_seconds; /* for connecting, and for each reply as a whole */
} redis_login;

/* Reads the password from --password-file or the environment variable REDISCLI_AUTH. Ends the tool if the file cannot
 * be read, or if the address names a user and there is no password. */
void redis_login_read(const arguments *a, const redis_address *address, redis_login *login);
void redis_login_free(redis_login *login);

/* Enough for replies that are a number, a short text or an error. */
enum { REDIS_REPLY_BYTES = 16 << 10 };

/* A command: its words are bytes in the caller's memory, which must stay there until the command was sent. */
typedef struct redis_command {
    const char **words;
    size_t *bytes;
    size_t count, allocated;
    size_t reply_bytes; /* the most memory that its reply may need; 0: REDIS_REPLY_BYTES */
    bool may_repeat;    /* running it twice does no harm, so it is sent again after a lost connection */
    char digits[2][24];
    size_t numbers; /* how many of `digits` are used */
} redis_command;

void redis_command_begin(redis_command *c, const char *name); /* a zeroed struct, or one that was used before */
void redis_command_bytes(redis_command *c, const void *bytes, size_t byte_count);
void redis_command_text(redis_command *c, const char *text);
void redis_command_number(redis_command *c, uint64_t number); /* at most two per command */
void redis_command_free(redis_command *c);

/* Seconds on a clock that only goes forward, for deadlines. */
double redis_seconds_now(void);

typedef struct redis_connection {
    char *host;
    unsigned port;
    char name[280]; /* HOST:PORT, for messages */
    const redis_login *login;
    redisContext *context; /* NULL: not connected */
    bool sent;             /* the last command may have reached the server */
    char error[640];       /* why the last call failed */

    size_t read_at, read_end; /* bytes in `read` that do not belong to a reply yet */
    char read[16 << 10];
} redis_connection;

/* Does not connect yet. */
redis_connection *redis_connection_new(const char *host, unsigned port, const redis_login *login);
void redis_connection_free(redis_connection *c);

/* Queues a command, after connecting if there is no connection. Returns false, with c->error, if it cannot connect or
 * log in. */
bool redis_connection_queue(redis_connection *c, const redis_command *call);

/* Sends everything that is queued. Returns false, with c->error, if the connection is lost, or if the server does not
 * take it within the timeout. */
bool redis_connection_flush(redis_connection *c);

/* Returns the reply to `call`, the oldest command that has none yet. Returns NULL, with c->error, if the connection is
 * lost, if the reply is not complete within the timeout, or if it needs more memory than call->reply_bytes. Then the
 * connection is closed, and the replies to all other commands are lost, too. */
redisReply *redis_connection_receive(redis_connection *c, const redis_command *call);

#endif
