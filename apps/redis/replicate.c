/* replicate.c: KITH._CREATE; see replicate.h. */
#include "replicate.h"

#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "keys.h"

#define SECRET_BYTES (8 + KITH_HASH_KEY_BYTES)

void replicate_create(RedisModuleCtx *ctx, RedisModuleString *key, const value_creation *c) {
    char rate[40], secret[SECRET_BYTES];
    (void)snprintf(rate, sizeof rate, "%.17g", c->rate);
    for (unsigned i = 0; i < 8; i++)
        secret[i] = (char)(c->hash.seed >> 8 * i & 0xff);
    memcpy(secret + 8, c->hash.key, KITH_HASH_KEY_BYTES);
    (void)server.Replicate(ctx, "KITH._CREATE", "scclclblllc", key, c->kind, c->options, (long long)c->capacity, rate,
                           (long long)c->hash.id, secret, sizeof secret, (long long)c->request.expansion,
                           (long long)c->request.bucket_size, (long long)c->request.max_iterations,
                           kith_key_type_name(c->keys));
}

static bool read_text(const RedisModuleString *argument, char *text, size_t text_bytes) {
    size_t bytes;
    const char *given = server.StringPtrLen(argument, &bytes);
    if (bytes >= text_bytes)
        return false;
    memcpy(text, given, bytes);
    text[bytes] = 0;
    return true;
}

static bool read_small(const RedisModuleString *argument, uint32_t *number) {
    long long n = 0;
    bool ok = argument_number(argument, 0, UINT32_MAX, &n) == ARGUMENT_OK;
    *number = (uint32_t)n;
    return ok;
}

static bool read_creation(RedisModuleString **argv, value_creation *c) {
    long long capacity, hash;
    size_t secret_bytes;
    char keys[8];
    const char *secret = server.StringPtrLen(argv[7], &secret_bytes);
    *c = (value_creation){0};
    if (!read_text(argv[2], c->kind, sizeof c->kind) || !read_text(argv[3], c->options, sizeof c->options) ||
        argument_number(argv[4], 1, INT64_MAX, &capacity) != ARGUMENT_OK ||
        argument_rate(argv[5], &c->rate) != ARGUMENT_OK ||
        argument_number(argv[6], 0, KITH_HASH_SIPHASH, &hash) != ARGUMENT_OK || secret_bytes != SECRET_BYTES ||
        !read_small(argv[8], &c->request.expansion) || !read_small(argv[9], &c->request.bucket_size) ||
        !read_small(argv[10], &c->request.max_iterations) || !read_text(argv[11], keys, sizeof keys) ||
        kith_key_type_named(keys, &c->keys) != KITH_OK)
        return false;
    c->capacity = (uint64_t)capacity;
    c->hash.id = (kith_hash_id)hash;
    for (unsigned i = 0; i < 8; i++)
        c->hash.seed |= (uint64_t)(unsigned char)secret[i] << 8 * i;
    memcpy(c->hash.key, secret + 8, KITH_HASH_KEY_BYTES);
    return true;
}

int command_create(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    value_creation c;
    value *v;
    if (!keys_must_obey(ctx))
        return server.ReplyWithError(ctx, "ERR KITH._CREATE is for replication only: use KITH.RESERVE");
    if (!read_creation(argv, &c))
        return server.ReplyWithError(ctx, "ERR malformed KITH._CREATE");
    kith_status status = value_create(&c, 0, &v);
    if (status != KITH_OK) {
        server.Log(ctx, "warning", "cannot create a replicated filter: %s", kith_status_text(status));
        return server.ReplyWithError(ctx, "ERR could not create filter");
    }
    RedisModuleKey *key = server.OpenKey(ctx, argv[1], KEY_READ | KEY_WRITE);
    keys_set(key, v);
    server.CloseKey(key);
    (void)server.SignalModifiedKey(ctx, argv[1]);
    (void)server.NotifyKeyspaceEvent(ctx, NOTIFY_MODULE, "kith.create", argv[1]);
    (void)server.ReplicateVerbatim(ctx);
    return server.ReplyWithSimpleString(ctx, "OK");
}
