/* server/address.c: reads the addresses of keys on servers; see server/address.h. */
#define _GNU_SOURCE

#include "cli/server/address.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/output/report.h"

enum { PORT_DEFAULT = 6379, PORT_MAX = 65535, DATABASE_MAX = 65535 };

static const char FORM[] = "redis://[USER@]HOST[:PORT][/DB]/KEY";

bool redis_is_address(const char *text) {
    const char *end = strstr(text, "://");
    return end != NULL && strncasecmp(text, "redis", 5) == 0 && strcspn(text, "/") == (size_t)(end - text) + 1;
}

static int hex_digit(char c) {
    static const char digits[] = "0123456789abcdef";
    const char *at = c != '\0' ? strchr(digits, c | 0x20) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

/* Replaces %XX by the byte. Sets *byte_count to the length of the result, which also ends with a zero byte. */
static char *decode(const char *address, const char *text, size_t text_bytes, size_t *byte_count) {
    char *result = allocate(text_bytes + 1);
    size_t used = 0;
    for (size_t i = 0; i < text_bytes; i++) {
        char c = text[i];
        if (c == '?' || c == '#')
            fail("%s: '%c' has a special meaning in addresses; write %%%02X", address, c, (unsigned)c);
        if (c == '%') {
            int high = i + 2 < text_bytes ? hex_digit(text[i + 1]) : -1;
            int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
            if (low < 0)
                fail("%s: %% must be followed by two hex digits; write %%25 for a percent sign", address);
            c = (char)(high * 16 + low);
            i += 2;
        }
        result[used++] = c;
    }
    result[used] = '\0';
    *byte_count = used;
    return result;
}

/* Returns the number, or -1 if the text is not a decimal number of at most `most`. */
static long number_of(const char *text, size_t bytes, long most) {
    long number = 0;
    if (bytes == 0)
        return -1;
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        number = number * 10 + (text[i] - '0');
        if (number > most)
            return -1;
    }
    return number;
}

static void read_host(const char *host, size_t bytes, redis_address *a) {
    const char *port = NULL;
    const char *name = host;
    size_t name_bytes = bytes;
    if (bytes > 0 && host[0] == '[') {
        const char *end = memchr(host, ']', bytes);
        if (end == NULL || (end + 1 < host + bytes && end[1] != ':'))
            fail("%s: an IPv6 address is written as [ADDRESS] or [ADDRESS]:PORT", a->text);
        name = host + 1;
        name_bytes = (size_t)(end - name);
        port = end + 1 < host + bytes ? end + 2 : NULL;
    } else {
        const char *colon = memchr(host, ':', bytes);
        if (colon != NULL && memchr(colon + 1, ':', (size_t)(host + bytes - colon - 1)) != NULL)
            fail("%s: an IPv6 address is written in brackets: [ADDRESS]:PORT", a->text);
        name_bytes = colon != NULL ? (size_t)(colon - host) : bytes;
        port = colon != NULL ? colon + 1 : NULL;
    }
    if (name_bytes == 0)
        fail("%s: the host is missing: %s", a->text, FORM);
    a->host = strndup(name, name_bytes);
    if (a->host == NULL)
        fail("not enough memory");
    a->port = PORT_DEFAULT;
    if (port == NULL)
        return;
    long number = number_of(port, (size_t)(host + bytes - port), PORT_MAX);
    if (number < 1)
        fail("%s: the port must be a number from 1 to %d", a->text, PORT_MAX);
    a->port = (unsigned)number;
}

static void read_path(const char *path, redis_address *a) {
    const char *slash = strchr(path, '/');
    size_t first_bytes = slash != NULL ? (size_t)(slash - path) : strlen(path);
    long database = number_of(path, first_bytes, DATABASE_MAX);
    if (database >= 0 && slash == NULL)
        fail("%s: this names database %ld but no key; write /%ld/KEY, or /0/%ld for the key %ld", a->text, database,
             database, database, database);
    if (database >= 0) {
        path = slash + 1;
        a->database = (unsigned)database;
    }
    if (a->database != 0 && a->cluster)
        fail("%s: a cluster has only database 0", a->text);
    a->key = decode(a->text, path, strlen(path), &a->key_bytes);
    if (a->key_bytes == 0)
        fail("%s: the key is missing: %s", a->text, FORM);
}

void redis_address_read(const char *text, redis_address *a) {
    static const char one[] = "redis://", cluster[] = "redis+cluster://";
    *a = (redis_address){.text = text};
    const char *rest = strstr(text, "://");
    if (rest == NULL)
        fail("%s: not the address of a key: %s", text, FORM);
    rest += 3;
    const char *path = strchr(rest, '/');
    size_t authority_bytes = path != NULL ? (size_t)(path - rest) : strlen(rest);
    const char *at = rest + authority_bytes;
    while (at > rest && at[-1] != '@')
        at--;
    at = at > rest ? at - 1 : NULL;
    /* The address is not printed here, because it has the password. */
    if (at != NULL && memchr(rest, ':', (size_t)(at - rest)) != NULL)
        fail("the address contains a password, which other users can read in the list of processes; write USER@HOST, "
             "and give the password in the environment variable REDISCLI_AUTH or in a file with --password-file");
    if (strncasecmp(text, "rediss:", 7) == 0)
        fail("%s: kith cannot use TLS; connect through a tunnel (stunnel, ssh -L) and use redis://", text);
    a->cluster = strncasecmp(text, cluster, sizeof cluster - 1) == 0;
    if (!a->cluster && strncasecmp(text, one, sizeof one - 1) != 0)
        fail("%s: the address must begin with redis:// or redis+cluster://", text);
    if (path == NULL)
        fail("%s: the key is missing: %s", text, FORM);
    size_t ignored;
    if (at != NULL) {
        a->user = decode(text, rest, (size_t)(at - rest), &ignored);
        if (*a->user == '\0')
            fail("%s: the user before @ is missing; omit the @", text);
    }
    const char *host = at != NULL ? at + 1 : rest;
    read_host(host, (size_t)(rest + authority_bytes - host), a);
    read_path(path + 1, a);
}

void redis_address_free(redis_address *a) {
    free(a->user);
    free(a->host);
    free(a->key);
}
