/* commands.h: the functions of the commands, and registering them. */
#ifndef KITH_REDIS_COMMANDS_H
#define KITH_REDIS_COMMANDS_H

#include "api.h"

#define COMMAND(set, name, function, ...) int function(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
#include "commands.def"
#undef COMMAND

/* Registers the commands, with arity, documentation and, where the server has them, ACL categories: bloom, cuckoo and
 * kith. If `only_kith`, only those that begin with KITH. Returns NULL, or the name of a command that cannot be
 * registered, most likely because another module has it. */
const char *commands_register(RedisModuleCtx *ctx, bool only_kith);

#endif
