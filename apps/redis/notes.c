/* notes.c: KITH.NOTE and KITH.UNLINK, on the notes in a filter's block (kith_filter_note()). */
#include <string.h>

#include "commands.h"
#include "keys.h"

/* Returns the value of the note. Returns NULL with *error NULL if there is no such key, else with a reply. */
static const char *note_of(RedisModuleKey *key, const RedisModuleString *name, const char **error) {
    size_t bytes;
    const char *wanted = server.StringPtrLen(name, &bytes);
    *error = NULL;
    if (key == NULL || server.KeyType(key) == KEY_TYPE_EMPTY)
        return NULL;
    const value *v = keys_value(key, COMMANDS_KITH, error);
    if (v == NULL)
        return NULL;
    const char *note = strlen(wanted) == bytes ? kith_filter_note(v->filter, wanted) : NULL;
    if (note == NULL)
        *error = "ERR the filter has no such note";
    return note;
}

int command_kith_note(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argc;
    RedisModuleKey *key = server.OpenKey(ctx, argv[1], KEY_READ);
    const char *error, *note = note_of(key, argv[2], &error);
    if (note != NULL)
        (void)server.ReplyWithStringBuffer(ctx, note, strlen(note));
    else if (error != NULL)
        (void)server.ReplyWithError(ctx, error);
    else
        (void)server.ReplyWithNull(ctx);
    if (key != NULL)
        server.CloseKey(key);
    return SERVER_OK;
}

static bool is_one_of(const char *note, RedisModuleString **texts, int count) {
    size_t note_bytes = strlen(note), bytes;
    for (int i = 0; i < count; i++) {
        const char *text = server.StringPtrLen(texts[i], &bytes);
        if (bytes == note_bytes && memcmp(text, note, bytes) == 0)
            return true;
    }
    return false;
}

/* The check and the removal are one command, so nothing can come between them, in any server and without scripts. */
int command_kith_unlink(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    RedisModuleKey *key = server.OpenKey(ctx, argv[1], KEY_READ | KEY_WRITE);
    const char *error, *note = note_of(key, argv[2], &error);
    bool removes = note != NULL && is_one_of(note, argv + 3, argc - 3);
    if (note != NULL && !removes)
        error = "ERR the note of the filter is another one";
    if (removes) {
        (void)server.UnlinkKey(key);
        (void)server.Replicate(ctx, "UNLINK", "s", argv[1]);
        (void)server.SignalModifiedKey(ctx, argv[1]);
        (void)server.NotifyKeyspaceEvent(ctx, NOTIFY_GENERIC, "del", argv[1]);
    }
    server.CloseKey(key);
    if (error != NULL)
        return server.ReplyWithError(ctx, error);
    return server.ReplyWithLongLong(ctx, removes);
}
