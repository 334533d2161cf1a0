/* server/type.c: what a key of a server holds; see server/type.h. */
#include "cli/server/type.h"

#include <stdio.h>
#include <string.h>

redis_type redis_type_of_reply(const redisReply *reply) {
    static const struct {
        const char *name;
        redis_type type;
    } types[] = {
        {"none", REDIS_TYPE_NONE},       {"kithbloom", REDIS_TYPE_KITH},   {"kithcucko", REDIS_TYPE_KITH},
        {"MBbloom--", REDIS_TYPE_BLOOM}, {"MBbloomCF", REDIS_TYPE_CUCKOO}, {"bloomfltr", REDIS_TYPE_VALKEY},
        {"string", REDIS_TYPE_STRING},
    };
    for (size_t i = 0; reply->type == REDIS_REPLY_STATUS && i < sizeof types / sizeof *types; i++)
        if (strcmp(reply->str, types[i].name) == 0)
            return types[i].type;
    return REDIS_TYPE_OTHER;
}

redis_type redis_type_of(redis_link *link, const char *key, size_t key_bytes, redis_type_name name) {
    redisReply *reply = redis_link_ask(link, "TYPE", key, key_bytes);
    redis_type type = redis_type_of_reply(reply);
    (void)snprintf(name, sizeof(redis_type_name), "%s", reply->type == REDIS_REPLY_STATUS ? reply->str : "?");
    freeReplyObject(reply);
    return type;
}

bool redis_type_is_filter(redis_type type) {
    return type == REDIS_TYPE_KITH || type == REDIS_TYPE_BLOOM || type == REDIS_TYPE_CUCKOO ||
           type == REDIS_TYPE_VALKEY;
}
