/* redis_connection.c: a connection to one server; see redis_connection.h. */
#define _GNU_SOURCE

#include "redis_connection.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report.h"
#include "uninterrupted.h"

enum { TIMEOUT_DEFAULT = 30, PASSWORD_BYTES_MAX = 4096 };

/* ---- passwords ---- */

/* Returns the first line of the file. */
static char *password_of_file(const char *path) {
    int fd = open_fully(path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        fail_errno(path);
    char *text = allocate(PASSWORD_BYTES_MAX + 1);
    size_t used = 0;
    while (used < PASSWORD_BYTES_MAX) {
        ssize_t got = read(fd, text + used, PASSWORD_BYTES_MAX - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            fail_errno(path);
        if (got == 0)
            break;
        used += (size_t)got;
    }
    (void)close(fd);
    text[used] = '\0';
    text[strcspn(text, "\r\n")] = '\0';
    if (*text == '\0')
        fail("%s: the first line, which must be the password, is empty", path);
    if (used == PASSWORD_BYTES_MAX && strlen(text) == used)
        fail("%s: the first line, which must be the password, is longer than %d bytes", path, PASSWORD_BYTES_MAX - 1);
    return text;
}

void redis_login_read(const arguments *a, const redis_address *address, redis_login *login) {
    *login = (redis_login){
        .user = address->user,
        .database = address->database,
        .timeout_seconds = a->timeout_seconds != 0 ? a->timeout_seconds : TIMEOUT_DEFAULT,
    };
    const char *from_environment = getenv("REDISCLI_AUTH");
    if (a->password_file != NULL)
        login->password = password_of_file(a->password_file);
    else if (from_environment != NULL && *from_environment != '\0')
        login->password = strdup(from_environment);
    if (login->user != NULL && login->password == NULL)
        fail("%s: there is no password for the user %s; set REDISCLI_AUTH, or give --password-file FILE", address->text,
             login->user);
}

void redis_login_free(redis_login *login) {
    if (login->password != NULL)
        explicit_bzero(login->password, strlen(login->password));
    free(login->password);
}

/* ---- commands ---- */

void redis_command_bytes(redis_command *c, const void *bytes, size_t byte_count) {
    if (c->count == c->allocated) {
        c->allocated = c->allocated > 0 ? 2 * c->allocated : 8;
        c->words = reallocate(c->words, c->allocated * sizeof *c->words);
        c->bytes = reallocate(c->bytes, c->allocated * sizeof *c->bytes);
    }
    c->words[c->count] = bytes;
    c->bytes[c->count++] = byte_count;
}

void redis_command_text(redis_command *c, const char *text) {
    redis_command_bytes(c, text, strlen(text));
}

void redis_command_number(redis_command *c, uint64_t number) {
    char *digits = c->digits[c->numbers++];
    (void)snprintf(digits, sizeof c->digits[0], "%" PRIu64, number);
    redis_command_text(c, digits);
}

void redis_command_begin(redis_command *c, const char *name) {
    c->count = 0;
    c->numbers = 0;
    c->may_repeat = false;
    redis_command_text(c, name);
}

void redis_command_free(redis_command *c) {
    free(c->words);
    free(c->bytes);
    *c = (redis_command){0};
}

/* ---- the connection ---- */

redis_connection *redis_connection_new(const char *host, unsigned port, const redis_login *login) {
    redis_connection *c = allocate(sizeof *c);
    *c = (redis_connection){.host = strdup(host), .port = port, .login = login};
    if (c->host == NULL)
        fail("not enough memory");
    (void)snprintf(c->name, sizeof c->name, strchr(host, ':') != NULL ? "[%s]:%u" : "%s:%u", host, port);
    return c;
}

/* A signal handler may use the socket, so the context is freed only when it is no longer there. */
static void drop(redis_connection *c) {
    redisContext *context = c->context;
    c->context = NULL;
    if (context != NULL)
        redisFree(context);
}

void redis_connection_free(redis_connection *c) {
    if (c == NULL)
        return;
    drop(c);
    free(c->host);
    free(c);
}

/* Keeps the reason, and closes the connection: after an error, replies could no longer be matched to commands. */
static void lose(redis_connection *c, const char *doing) {
    int error = errno;
    const redisContext *context = c->context;
    if (context == NULL)
        (void)snprintf(c->error, sizeof c->error, "%s: not enough memory", c->name);
    else if (context->err == REDIS_ERR_IO && (error == EAGAIN || error == EWOULDBLOCK))
        (void)snprintf(c->error, sizeof c->error, "%s: no reply within %u s (--timeout)", c->name,
                       c->login->timeout_seconds);
    else if (context->err == REDIS_ERR_EOF)
        (void)snprintf(c->error, sizeof c->error, "%s: the server closed the connection", c->name);
    else
        (void)snprintf(c->error, sizeof c->error, "%s: %s%s", c->name, doing, context->errstr);
    drop(c);
}

/* Sends one command of the login and checks that the reply is OK. */
static bool ask(redis_connection *c, int word_count, const char **words) {
    redisReply *reply = redisCommandArgv(c->context, word_count, words, NULL);
    if (reply == NULL) {
        lose(c, "");
        return false;
    }
    bool good = reply->type != REDIS_REPLY_ERROR;
    if (!good) {
        (void)snprintf(c->error, sizeof c->error, "%s: %s said: %s", c->name, words[0], reply->str);
        drop(c);
    }
    freeReplyObject(reply);
    return good;
}

static bool log_in(redis_connection *c) {
    const redis_login *login = c->login;
    char database[16];
    (void)snprintf(database, sizeof database, "%u", login->database);
    const char *named[] = {"AUTH", login->user, login->password};
    const char *unnamed[] = {"AUTH", login->password};
    const char *select[] = {"SELECT", database};
    if (login->password != NULL && !(login->user != NULL ? ask(c, 3, named) : ask(c, 2, unnamed)))
        return false;
    return login->database == 0 || ask(c, 2, select);
}

static bool open_connection(redis_connection *c) {
    struct timeval timeout = {.tv_sec = (time_t)c->login->timeout_seconds};
    c->context = redisConnectWithTimeout(c->host, (int)c->port, timeout);
    if (c->context == NULL || c->context->err != 0) {
        lose(c, "cannot connect: ");
        return false;
    }
    (void)redisSetTimeout(c->context, timeout);
    (void)redisEnableKeepAlive(c->context);
    return log_in(c);
}

bool redis_connection_queue(redis_connection *c, const redis_command *call) {
    c->sent = false;
    if (c->context == NULL && !open_connection(c))
        return false;
    if (call->count > INT_MAX)
        fail("a command with %zu words is too long", call->count);
    if (redisAppendCommandArgv(c->context, (int)call->count, call->words, call->bytes) == REDIS_OK)
        return true;
    lose(c, "");
    return false;
}

bool redis_connection_flush(redis_connection *c) {
    if (c->context == NULL)
        return false;
    c->sent = true;
    int done = 0;
    while (!done)
        if (redisBufferWrite(c->context, &done) != REDIS_OK) {
            lose(c, "");
            return false;
        }
    return true;
}

redisReply *redis_connection_receive(redis_connection *c) {
    if (c->context == NULL)
        return NULL;
    void *reply = NULL;
    errno = 0;
    if (redisGetReply(c->context, &reply) == REDIS_OK && reply != NULL)
        return reply;
    lose(c, "");
    return NULL;
}
