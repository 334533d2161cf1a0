/* commands.c: registers the commands of commands.def; see commands.h. */
#include "commands.h"

#include <stdio.h>
#include <string.h>

#include "docs.h"
#include "keys.h"

typedef struct command {
    command_set set;
    const char *name;
    command_function function;
    const char *flags;
    int arity;
    int last_key;
    const char *category;
    const char *complexity;
    const char *summary;
    const char *arguments;
} command;

static const command commands[] = {
#define COMMAND(set, name, function, flags, arity, last_key, category, complexity, summary, arguments)                 \
    {set, name, function, flags, arity, last_key, category, complexity, summary, arguments},
#include "commands.def"
#undef COMMAND
};

static const command_info_version version = {1, sizeof(command_history), sizeof(command_key_spec),
                                             sizeof(command_argument)};

/* What commands do with their keys, for ACL rules like %R~pattern. */
#define KEYS(key_flags, first, last)                                                                                   \
    {                                                                                                                  \
        .flags = (key_flags), .begin_type = KEY_SPEC_INDEX, .begin.at.index = (first), .find_type = KEY_SPEC_RANGE,    \
        .find.range = {                                                                                                \
            (last),                                                                                                    \
            1,                                                                                                         \
            0                                                                                                          \
        }                                                                                                              \
    }

static command_key_spec read_keys[] = {KEYS(KEY_SPEC_READ | KEY_SPEC_ACCESS, 1, 0), {0}};
static command_key_spec change_keys[] = {KEYS(KEY_SPEC_READ_WRITE | KEY_SPEC_ACCESS | KEY_SPEC_UPDATE, 1, 0), {0}};
static command_key_spec unlink_keys[] = {KEYS(KEY_SPEC_READ_WRITE | KEY_SPEC_ACCESS | KEY_SPEC_DELETE, 1, 0), {0}};
static command_key_spec combine_keys[] = {KEYS(KEY_SPEC_READ_WRITE | KEY_SPEC_ACCESS | KEY_SPEC_UPDATE, 1, 0),
                                          KEYS(KEY_SPEC_READ | KEY_SPEC_ACCESS, 2, -1),
                                          {0}};

/* KITH.RESERVE has a second key only after the word LIKE. */
static command_key_spec reserve_keys[] = {
    {.flags = KEY_SPEC_OVERWRITE | KEY_SPEC_INSERT,
     .begin_type = KEY_SPEC_INDEX,
     .begin.at.index = 1,
     .find_type = KEY_SPEC_RANGE,
     .find.range = {0, 1, 0}},
    {.flags = KEY_SPEC_READ | KEY_SPEC_ACCESS,
     .begin_type = KEY_SPEC_KEYWORD,
     .begin.after = {"LIKE", 2},
     .find_type = KEY_SPEC_RANGE,
     .find.range = {0, 1, 0}},
    {0},
};

static command_key_spec *key_specs_of(const command *c) {
    if (c->function == command_kith_reserve)
        return reserve_keys;
    if (c->function == command_kith_unlink)
        return unlink_keys;
    if (c->last_key < 0)
        return combine_keys;
    return strstr(c->flags, "readonly") != NULL ? read_keys : change_keys;
}

/* A rule of the ACL such as -@write must hold for commands of modules as well, but the server does not derive the
 * categories from the flags. If there is no room for a category of the module, the standard ones are set alone. */
static void set_categories(RedisModuleCtx *ctx, RedisModuleCommand *made, const command *c) {
    char standard[32], all[64];
    if (server.SetCommandACLCategories == NULL)
        return;
    (void)snprintf(standard, sizeof standard, "%s %s", strstr(c->flags, "readonly") != NULL ? "read" : "write",
                   strstr(c->flags, "fast") != NULL ? "fast" : "slow");
    (void)snprintf(all, sizeof all, "%s %s", standard, c->category);
    if (server.AddACLCategory != NULL && server.SetCommandACLCategories(made, all) == SERVER_OK)
        return;
    if (server.SetCommandACLCategories(made, standard) != SERVER_OK)
        server.Log(ctx, "warning", "the server does not accept the ACL categories \"%s\" for %s", standard, c->name);
}

static bool register_one(RedisModuleCtx *ctx, const command *c) {
    if (server.CreateCommand(ctx, c->name, c->function, c->flags, 1, c->last_key, 1) != SERVER_OK)
        return false;
    RedisModuleCommand *made = server.GetCommand(ctx, c->name);
    docs_arguments arguments;
    docs_parse(c->arguments, &arguments);
    command_info info = {
        .version = &version,
        .summary = c->summary,
        .complexity = c->complexity,
        .since = "0.1.0",
        .arity = c->arity,
        .key_specs = key_specs_of(c),
        .arguments = arguments.all,
    };
    if (made == NULL || server.SetCommandInfo(made, &info) != SERVER_OK)
        return false;
    set_categories(ctx, made, c);
    return true;
}

static void add_category(RedisModuleCtx *ctx, const char *name) {
    if (server.AddACLCategory != NULL)
        (void)server.AddACLCategory(ctx, name); /* fails harmlessly if another module has added it */
}

const char *commands_register(RedisModuleCtx *ctx, bool only_kith) {
    add_category(ctx, "kith");
    if (!only_kith) {
        add_category(ctx, "bloom");
        add_category(ctx, "cuckoo");
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if ((!only_kith || commands[i].set == COMMANDS_KITH) && !register_one(ctx, &commands[i]))
            return commands[i].name;
    return NULL;
}
