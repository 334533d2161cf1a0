#!/usr/bin/python3
"""The server's access control: the categories of commands, and the rules of docs/redis.md for servers without them."""
import re

from server import ROOT, check, equal, expect, expect_error, info, main, test
from resp import Error, OK


def text_of(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def infos_of_commands(c):
    names = sorted(text_of(name) for name in c("COMMAND LIST FILTERBY MODULE kith"))
    check(len(names) > 30, names)
    return c("COMMAND", "INFO", *names)


def flags_of_commands(c):
    """The flags of each command of the module, by name."""
    return {text_of(entry[0]): {text_of(flag) for flag in entry[2]} for entry in infos_of_commands(c)}


def categories_of_commands(c):
    return {text_of(entry[0]): {text_of(name).lstrip("@") for name in entry[6]} for entry in infos_of_commands(c)}


def version_of(c):
    return tuple(int(part) for part in info(c, "server")["redis_version"].split(".")[:2])


def standard_categories(s, c):
    """Whether the server has RedisModule_SetCommandACLCategories: since Redis 7.2, and in every Valkey."""
    return s.kind == "valkey" or version_of(c) >= (7, 2)


def own_categories(s, c):
    """Whether the server has RedisModule_AddACLCategory: since Redis 7.4, and in Valkey since 8."""
    return s.kind == "valkey" or version_of(c) >= (7, 4)


def rule(sign, names):
    return " ".join(sign + name for name in sorted(names))


def rules(commands):
    """What docs/redis.md must contain: the rule without writing, and the one for reading alone."""
    writing = [name for name, flags in commands.items() if "write" in flags]
    reading = [name for name, flags in commands.items() if "readonly" in flags]
    equal(sorted(writing + reading), sorted(commands), "every command either reads or writes")
    return rule("-", writing), rule("+", reading)


def documented_rules():
    section = (ROOT / "docs" / "redis.md").read_text().split("\n## Access control\n")[1].split("\n## ")[0]
    blocks = [" ".join(block.split()) for block in re.findall(r"```\n(.*?)```", section, re.S)]
    equal(len(blocks), 2, "two rules are documented")
    return blocks


def user(s, c, name, *words):
    expect(c, ["ACL", "SETUSER", name, "reset", "on", "nopass", "~*", *words], OK)
    connection = s.connect()
    expect(connection, ["AUTH", name, "any"], OK)
    return connection


def refused(connection, command):
    expect_error(connection, command, "NOPERM")


WRITES = ("BF.ADD k y", "BF.MADD k y", "BF.RESERVE new 0.01 100", "BF.INSERT new ITEMS x", "CF.ADD c y", "CF.DEL c x",
          "CF.ADDNX c y", "KITH.ADD k y", "KITH.DEL c x", "KITH.RESERVE new bloom 0.01 100", "KITH.MERGE k k",
          "KITH.LOAD new 0 10 x", "KITH.UNLINK k note x", "BF.LOADCHUNK new 1 x")
READS = ("BF.EXISTS k x", "BF.MEXISTS k x", "BF.CARD k", "BF.INFO k", "CF.EXISTS c x", "CF.COUNT c x",
         "KITH.EXISTS k x", "KITH.STATS k", "KITH.DUMP k 0", "BF.SCANDUMP k 0")


def check_users(s, c, no_writing, only_reading):
    """Two users: one may do everything but write, the other one nothing but read."""
    c("BF.ADD k x")
    c("CF.ADD c x")
    for connection in (user(s, c, "a", "+@all", *no_writing), user(s, c, "b", *only_reading)):
        for command in WRITES:
            refused(connection, command)
        for command in READS:
            got = connection(*command.split())
            check(not isinstance(got, Error), f"{command} returned {got!r}")
    equal(c("KITH.MEXISTS", "k", "x", "y"), [1, 0])
    equal(c("EXISTS new"), 0)


@test
def users_without_writing_cannot_add_and_readers_can_look_up(s):
    c = s.connect()
    if standard_categories(s, c):
        check_users(s, c, ["-@write"], ["-@all", "+@read"])
    else:
        check_users(s, c, documented_rules()[0].split(), ["-@all", *documented_rules()[1].split()])


@test
def the_documented_rules_are_those_of_the_commands(s):
    c = s.connect()
    equal(documented_rules(), list(rules(flags_of_commands(c))))
    check_users(s, c, documented_rules()[0].split(), ["-@all", *documented_rules()[1].split()])


@test
def a_server_without_categories_is_named_in_the_log(s):
    c = s.connect()
    warned = "no ACL categories for commands of modules" in s.server.log()
    equal(warned, not standard_categories(s, c))


@test
def every_command_is_in_the_categories_of_its_flags(s):
    c = s.connect()
    if not standard_categories(s, c):
        return
    categories = categories_of_commands(c)
    for name, flags in flags_of_commands(c).items():
        expected = {"write" if "write" in flags else "read", "fast" if "fast" in flags else "slow"}
        if own_categories(s, c):
            expected.add({"bf": "bloom", "cf": "cuckoo"}.get(name.split(".")[0], "kith"))
        equal(sorted(categories[name]), sorted(expected), name)


if __name__ == "__main__":
    main()
