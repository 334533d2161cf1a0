/* server/connection.c: a connection to one server; see server/connection.h. */
#define _GNU_SOURCE

#include "cli/server/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/files/filters.h"
#include "cli/server/scan.h"
#include "cli/output/report.h"
#include "cli/values.h"

enum { TIMEOUT_DEFAULT = 30, PASSWORD_BYTES_MAX = 4096 };

/* ---- passwords ---- */

/* Returns the first line of the file. */
static char *password_of_file(const char *path) {
    char *text = allocate(PASSWORD_BYTES_MAX + 1);
    size_t used = read_start(path, text, PASSWORD_BYTES_MAX);
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
    c->reply_bytes = 0;
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
    memset(c, 0, sizeof *c);
    c->host = strdup(host);
    c->port = port;
    c->login = login;
    if (c->host == NULL)
        fail("not enough memory");
    (void)snprintf(c->name, sizeof c->name, strchr(host, ':') != NULL ? "[%s]:%u" : "%s:%u", host, port);
    return c;
}

/* A signal handler may use the socket, so the context is freed only when it is no longer there. */
static void drop(redis_connection *c) {
    redisContext *context = c->context;
    c->context = NULL;
    c->read_at = c->read_end = 0;
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

/* Keeps the reason, and closes the connection. Always returns false. */
__attribute__((format(printf, 2, 3))) static bool give_up(redis_connection *c, const char *format, ...) {
    char words[sizeof c->error - sizeof c->name - 2];
    va_list details;
    va_start(details, format);
    (void)vsnprintf(words, sizeof words, format, details);
    va_end(details);
    (void)snprintf(c->error, sizeof c->error, "%s: %s", c->name, words);
    drop(c);
    return false;
}

/* Keeps the reason of hiredis, and closes the connection: after an error, replies could no longer be matched to
 * commands. */
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

static bool append(redis_connection *c, const redis_command *call) {
    if (call->count > INT_MAX)
        fail("a command with %zu words is too long", call->count);
    if (redisAppendCommandArgv(c->context, (int)call->count, call->words, call->bytes) == REDIS_OK)
        return true;
    lose(c, "");
    return false;
}

double redis_seconds_now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Waits until the socket has these events. Returns false, with c->error, after the deadline. */
static bool wait_for(redis_connection *c, short events, double deadline, const char *missing) {
    struct pollfd wanted = {c->context->fd, events, 0};
    for (;;) {
        double left = deadline - redis_seconds_now();
        int ready = left > 0 ? poll(&wanted, 1, left < INT_MAX / 1000 ? (int)(left * 1000) + 1 : INT_MAX) : 0;
        if (ready > 0 || (ready < 0 && errno != EINTR)) /* in an error, the next call says which */
            return true;
        if (ready == 0)
            return give_up(c, "%s within %u s (--timeout)", missing, c->login->timeout_seconds);
    }
}

bool redis_connection_flush(redis_connection *c) {
    if (c->context == NULL)
        return false;
    double deadline = redis_seconds_now() + c->login->timeout_seconds;
    c->sent = true;
    int done = 0;
    while (!done) {
        if (!wait_for(c, POLLOUT, deadline, "the server does not take the command"))
            return false;
        if (redisBufferWrite(c->context, &done) != REDIS_OK) {
            lose(c, "");
            return false;
        }
    }
    return true;
}

static bool read_more(redis_connection *c, double deadline, bool begun) {
    if (!wait_for(c, POLLIN, deadline, begun ? "the reply is not complete" : "no reply"))
        return false;
    ssize_t got = read(c->context->fd, c->read, sizeof c->read);
    if (got == 0)
        return give_up(c, "the server closed the connection");
    if (got < 0 && errno != EINTR && errno != EAGAIN)
        return give_up(c, "%s", strerror(errno));
    c->read_at = 0;
    c->read_end = got > 0 ? (size_t)got : 0;
    return true;
}

/* hiredis gets the bytes of one reply only, and not before it is known that they are few enough. */
redisReply *redis_connection_receive(redis_connection *c, const redis_command *call) {
    double deadline = redis_seconds_now() + c->login->timeout_seconds;
    size_t most = call->reply_bytes != 0 ? call->reply_bytes : REDIS_REPLY_BYTES;
    redis_scan scan;
    redis_scan_begin(&scan, most);
    for (bool begun = false; c->context != NULL;) {
        if (c->read_at == c->read_end && !read_more(c, deadline, begun))
            return NULL;
        size_t taken;
        redis_scan_result result = redis_scan_next(&scan, c->read + c->read_at, c->read_end - c->read_at, &taken);
        value_text limit;
        if (result == REDIS_SCAN_TOO_LARGE) {
            (void)give_up(c, "the reply to %s needs more than %s of memory, the limit for it", call->words[0],
                          text_of_size(most, limit));
            return NULL;
        }
        redisReader *reader = c->context->reader;
        void *reply = NULL;
        bool fed = redisReaderFeed(reader, c->read + c->read_at, taken) == REDIS_OK;
        c->read_at += taken;
        begun = begun || taken > 0;
        if (fed && result == REDIS_SCAN_MORE)
            continue;
        if (fed && redisReaderGetReply(reader, &reply) == REDIS_OK && reply != NULL)
            return reply;
        (void)give_up(c, "%s", reader->err != 0 ? reader->errstr : "the reply is not one that kith knows");
    }
    return NULL;
}

/* Sends one command of the login and checks that the reply is OK. */
static bool ask(redis_connection *c, size_t word_count, const char **words) {
    redis_command call = {0};
    redis_command_begin(&call, words[0]);
    for (size_t i = 1; i < word_count; i++)
        redis_command_text(&call, words[i]);
    redisReply *reply = append(c, &call) && redis_connection_flush(c) ? redis_connection_receive(c, &call) : NULL;
    redis_command_free(&call);
    if (reply == NULL)
        return false;
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
    return (c->context != NULL || open_connection(c)) && append(c, call);
}
