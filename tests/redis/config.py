#!/usr/bin/python3
"""The module's settings: CONFIG GET and SET, arguments at load, and servers on which BF.* is taken."""
import os

import workload
from resp import Error, Lost, OK
from server import check, equal, expect, expect_error, info, main, test

DEFAULTS = {"bf-error-rate": "0.01", "bf-initial-size": "100", "bf-expansion-factor": "2", "cf-bucket-size": "2",
            "cf-initial-size": "1024", "cf-max-iterations": "20", "cf-max-expansions": "32", "cf-error-rate": "0.01",
            "max-filter-bytes": str(480 << 20), "huge-pages-from": "0", "compat": "kith"}


def get(c, name):
    reply = c("CONFIG", "GET", "kith." + name)
    check(len(reply) == 2, f"CONFIG GET kith.{name} returned {reply!r}")
    return reply[1].decode()


@test
def settings_have_the_defaults_of_redisbloom(s):
    c = s.connect()
    for name, value in DEFAULTS.items():
        got = get(c, name)
        equal(float(got) if name.endswith("rate") else got, float(value) if name.endswith("rate") else value, name)


@test
def settings_decide_what_a_write_creates(s):
    c = s.start().connect()
    for name, value in (("bf-initial-size", "777"), ("bf-expansion-factor", "5"), ("bf-error-rate", "0.001"),
                        ("cf-initial-size", "5000"), ("cf-bucket-size", "4"), ("cf-max-iterations", "33"),
                        ("cf-expansion-factor", "3")):
        expect(c, ["CONFIG", "SET", "kith." + name, value], OK)
        equal(float(get(c, name)), float(value))
    c("BF.ADD b x")
    expect(c, "BF.INFO b CAPACITY", [777])
    expect(c, "BF.INFO b EXPANSION", [5])
    c("CF.ADD c x")
    values = dict(zip(*[iter(c("CF.INFO c"))] * 2))
    equal([values["Bucket size"], values["Expansion rate"], values["Max iterations"]], [4, 3, 33])
    c("CONFIG SET kith.bf-expansion-factor 0")
    c("BF.ADD b0 x")
    expect(c, "BF.INFO b0 EXPANSION", [None])


@test
def values_out_of_range_are_refused(s):
    c = s.start().connect()
    for name, values in (("bf-error-rate", ["0", "1", "-1", "x", "nan", "inf", ""]), ("cf-error-rate", ["0", "1", "x"]),
                         ("bf-initial-size", ["0", "-1", str(2**30 + 1), "x"]),
                         ("bf-expansion-factor", ["-1", "32769", "x"]),
                         ("cf-bucket-size", ["0", "256", "x"]), ("cf-initial-size", ["0", str(2**30 + 1)]),
                         ("cf-max-iterations", ["0", "65536"]), ("cf-expansion-factor", ["-1", "32769"]),
                         ("cf-max-expansions", ["0", "65537"]), ("max-filter-bytes", ["0", "-1", "x"]),
                         ("huge-pages-from", ["-1", "x"]),
                         ("compat", ["x", "", "yes"])):
        before = get(c, name)
        for value in values:
            got = c("CONFIG", "SET", "kith." + name, value)
            check(isinstance(got, Error), f"CONFIG SET kith.{name} {value!r} returned {got!r}")
            equal(get(c, name), before)


@test
def arguments_at_load_set_them_too(s):
    c = s.start(module_args=["bf-initial-size", "55", "bf-error-rate", "0.002", "cf-max-expansions", "9"]).connect()
    equal([get(c, "bf-initial-size"), float(get(c, "bf-error-rate")), get(c, "cf-max-expansions")], ["55", 0.002, "9"])
    c("BF.ADD b x")
    expect(c, "BF.INFO b CAPACITY", [55])
    c = s.start(module_args=["INITIAL_SIZE", "44", "ERROR_RATE", "0.003", "CF_MAX_EXPANSIONS", "7"]).connect()
    equal([get(c, "bf-initial-size"), float(get(c, "bf-error-rate")), get(c, "cf-max-expansions")], ["44", 0.003, "7"])


def refused(s, module_args=(), options=()):
    """Starts a server that must not start, and returns its log."""
    try:
        s.start(*options, module_args=module_args)
    except Lost:
        server = s.servers[-1]
        server.expect_exit = True
        return server.log()
    raise AssertionError(f"the server started with {module_args}")


@test
def wrong_arguments_refuse_the_load_with_a_reason(s):
    for args, part in ((["nosuch", "1"], "nosuch"), (["bf-error-rate", "2"], "bf-error-rate"),
                       (["bf-initial-size", "0"], "bf-initial-size"),
                       (["bf-initial-size"], "bf-initial-size"), (["bf", "maybe"], "bf"), (["compat", "x"], "compat")):
        log = [line for line in refused(s, args).splitlines() if "<kith>" in line]
        check(log and part in log[-1], f"{args}: the log has {log!r}")


@test
def loading_is_refused_if_another_module_has_a_command(s):
    taken = os.environ["KITH_TAKEN"]
    for command in ("BF.ADD", "CF.DEL", "BF.LOADCHUNK"):
        log = refused(s, options=["--loadmodule", taken, command])
        lines = [line for line in log.splitlines() if "<kith>" in line]
        equal(len(lines), 1, "log lines")
        check(command.lower() in lines[0].lower() and "bf no" in lines[0], lines[0])


@test
def with_bf_no_there_is_only_kith(s):
    taken = os.environ["KITH_TAKEN"]
    c = s.start("--loadmodule", taken, "BF.ADD", module_args=["bf", "no"]).connect()
    expect(c, "KITH.RESERVE k auto 0.01 1000 GROW", OK)
    expect(c, "KITH.ADD k x", 1)
    expect(c, "KITH.EXISTS k x", 1)
    check(isinstance(c("CF.ADD k x"), Error))
    names = {(name.decode() if isinstance(name, bytes) else str(name)).lower() for name in c("COMMAND LIST")}
    check("kith.add" in names and "cf.add" not in names and "bf.madd" not in names)


@test
def the_module_is_documented_and_has_an_info_section(s):
    c = s.connect()
    c("BF.ADD k x")
    check(b"name=kith," in c("INFO modules"), "INFO modules does not name kith")
    section = info(c, "everything")
    check(any(name.startswith("kith_") for name in section), "INFO has no kith section")
    for command in ("bf.add", "bf.reserve", "cf.insert", "kith.merge"):
        docs = c("COMMAND", "DOCS", command)
        check(len(docs) == 2 and "summary" in [str(word) if not isinstance(word, bytes) else word.decode()
                                               for word in docs[1][0::2]],
              f"COMMAND DOCS {command} returned {docs!r}")


@test
def acl_rules_and_key_patterns_apply(s):
    c = s.connect()
    expect(c, "ACL SETUSER limited on nopass ~allowed:* +bf.add +bf.exists", OK)
    limited = s.connect()
    expect(limited, "AUTH limited x", OK)
    expect(limited, "BF.ADD allowed:1 x", 1)
    expect_error(limited, "BF.ADD other x", "NOPERM")
    expect_error(limited, "BF.MADD allowed:1 x", "NOPERM")
    expect_error(limited, "CF.ADD allowed:2 x", "NOPERM")


@test
def compat_makes_new_keys_in_the_layout_of_redisbloom(s):
    for args in ([], ["compat", "redisbloom"]):
        c = s.start(module_args=args).connect()
        if not args:
            expect(c, "CONFIG SET kith.compat redisbloom", OK)
        c("BF.RESERVE b 0.01 1000")
        c("CF.RESERVE c 1000")
        c("BF.ADD b x")
        c("CF.ADD c x")
        equal(str(c("TYPE b")), "MBbloom--")
        equal(str(c("TYPE c")), "MBbloomCF")
        # The sizes of RedisBloom: 32 + 64 per level + bytes, 40 + 16 per sub-filter + bytes.
        expect(c, "BF.INFO b SIZE", [32 + 64 + (int(1000 * 11.02779) + 63) // 64 * 8])
        values = dict(zip(*[iter(c("CF.INFO c"))] * 2))
        equal([values["Size"], values["Number of buckets"], values["Expansion rate"]], [40 + 16 + 1024, 512, 1])
        equal(c("BF.MEXISTS b x y"), [1, 0])
        equal(c("CF.MEXISTS c x y"), [1, 0])
        expect(c, "CONFIG SET kith.compat kith", OK)
        c("BF.ADD b2 x")
        equal(str(c("TYPE b2")), "kithbloom")


def expansion_of_creations(c):
    """The expansion of a new CF.* key in RedisBloom's layout."""
    expect(c, "CONFIG SET kith.compat redisbloom", OK)
    expect(c, "CF.RESERVE c 1000", OK)
    return dict(zip(*[iter(c("CF.INFO c"))] * 2))["Expansion rate"]


@test
def an_expansion_that_was_given_counts_even_if_it_is_the_default(s):
    c = s.start().connect()
    equal(get(c, "cf-expansion-factor"), "2")
    equal(expansion_of_creations(c), 1)
    equal(get(c, "cf-expansion-factor"), "1", "with RedisBloom's layout, the default is")
    for factor in ("2", "4"):
        c = s.start(module_args=["cf-expansion-factor", factor]).connect()
        equal(expansion_of_creations(c), int(factor), "given as an argument")
        equal(get(c, "cf-expansion-factor"), factor)
        c = s.start("--kith.cf-expansion-factor", factor).connect()
        equal(expansion_of_creations(c), int(factor), "given in the configuration")
        equal(get(c, "cf-expansion-factor"), factor)
    c = s.start(module_args=["compat", "redisbloom"]).connect()
    equal(get(c, "cf-expansion-factor"), "1")
    expect(c, "CONFIG SET kith.cf-expansion-factor 2", OK)
    equal(expansion_of_creations(c), 2, "given by CONFIG SET")
    expect(c, "CONFIG SET kith.compat kith", OK)
    equal(get(c, "cf-expansion-factor"), "2")
    # The configuration comes after the arguments.
    c = s.start("--kith.cf-expansion-factor", "2", module_args=["cf-expansion-factor", "8"]).connect()
    equal(expansion_of_creations(c), 2)


@test
def bytes_have_units_in_arguments(s):
    for text, value in (("100mb", 100 << 20), ("5000", 5000), ("5000b", 5000), ("5k", 5000), ("5KB", 5 << 10),
                        ("7m", 7000000), ("1g", 1000000000), ("2GB", 2 << 30)):
        c = s.start(module_args=["max-filter-bytes", text]).connect()
        equal(get(c, "max-filter-bytes"), str(value), text)
    for text in ("mb", "", "-1", "1tb", "1 mb", "1mbx", "9223372036854775808", "9223372036854775807k", "4k", "1.5gb"):
        log = refused(s, ["max-filter-bytes", text or '""'])
        check("max-filter-bytes" in log, f"{text!r}: {log}")


@test
def a_default_below_the_rule_of_redisbloom_is_named(s):
    c = s.start(module_args=["compat", "redisbloom", "cf-bucket-size", "255", "cf-initial-size", "2"]).connect()
    expect_error(c, "CF.ADD c x", "2 * the bucket size")
    expect(c, "EXISTS c", 0)


if __name__ == "__main__":
    main()
