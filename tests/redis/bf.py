#!/usr/bin/python3
"""BF.*: every command, its replies in both protocols, its errors, and bad input.

The expected replies are those of RedisBloom. Where kith differs on purpose (docs/redis.md lists why), the test says so
with `suite.is_redisbloom`, so that this file also runs against RedisBloom.
"""
from resp import Error, Map, OK, Simple, same
from server import WRONGTYPE, check, digest, equal, expect, expect_error, main, test

FULL = Error("ERR non scaling filter is full")
RATE = Error("ERR error rate must be in the range (0.000000, 1.000000)")
CAPACITY = Error("ERR capacity must be in the range [1, 1073741824]")
EXPANSION = Error("ERR expansion must be in the range [0, 32768]")
NAMES = [Simple(name) for name in ("Capacity", "Size", "Number of filters", "Number of items inserted",
                                   "Expansion rate")]
COMMANDS = ["BF.RESERVE", "BF.ADD", "BF.MADD", "BF.INSERT", "BF.EXISTS", "BF.MEXISTS", "BF.CARD", "BF.INFO",
            "BF.SCANDUMP", "BF.LOADCHUNK"]


def both(suite):
    """Connections that speak RESP2 and RESP3, with the values of "yes" and "no" in that protocol."""
    return [(suite.connect(2), 1, 0), (suite.connect(3), True, False)]


@test
def reserve_add_and_exists_reply_as_integers_and_as_booleans(s):
    for c, yes, no in both(s):
        c("DEL k")
        expect(c, "BF.RESERVE k 0.01 1000", OK)
        expect(c, "BF.ADD k a", yes)
        expect(c, "BF.ADD k a", no)
        expect(c, "BF.EXISTS k a", yes)
        expect(c, "BF.EXISTS k b", no)
        expect(c, "BF.CARD k", 1)


@test
def batches_reply_one_element_per_item(s):
    for c, yes, no in both(s):
        c("DEL k")
        expect(c, "BF.MADD k a b a", [yes, yes, no])
        expect(c, "BF.MEXISTS k a x b a", [yes, no, yes, yes])
        expect(c, "BF.INSERT k ITEMS b c", [no, yes])
        expect(c, "BF.CARD k", 3)


@test
def add_madd_and_insert_create_a_filter_with_the_defaults(s):
    c = s.connect()
    for call in ("BF.ADD k1 x", "BF.MADD k2 x y", "BF.INSERT k3 ITEMS x"):
        c(call)
        key = call.split()[1]
        expect(c, f"BF.INFO {key} CAPACITY", [100])
        expect(c, f"BF.INFO {key} EXPANSION", [2])
        expect(c, f"BF.INFO {key} FILTERS", [1])


@test
def items_are_arbitrary_bytes(s):
    for c, yes, no in both(s):
        c("DEL k")
        expect(c, "BF.RESERVE k 0.000000001 1000", OK)
        items = [b"", b"\0", b"\0\0", b"\r\n", bytes(range(256)), b"x" * 100000, "grüße".encode()]
        equal(c("BF.MADD", "k", *items), [yes] * len(items))
        equal(c("BF.MEXISTS", "k", *items), [yes] * len(items))
        expect(c, ["BF.EXISTS", "k", b"\0\0\0"], no)


@test
def keys_are_arbitrary_bytes(s):
    c = s.connect()
    for key in (b"", b"a\0b", b"\xff" * 70000):
        expect(c, ["BF.ADD", key, "x"], 1)
        expect(c, ["BF.EXISTS", key, "x"], 1)


@test
def a_missing_key_has_no_items(s):
    for c, _, no in both(s):
        expect(c, "BF.EXISTS none x", no)
        expect(c, "BF.MEXISTS none x y", [no, no])
        expect(c, "BF.CARD none", 0)
        expect(c, "BF.INFO none", Error("ERR not found"))
        expect(c, "BF.INFO none SIZE", Error("ERR not found"))
        expect(c, "BF.SCANDUMP none 0", Error("ERR not found"))
        expect(c, "BF.INSERT none NOCREATE ITEMS x", Error("ERR not found"))
        expect(c, "EXISTS none", 0)


@test
def info_has_five_names_in_order(s):
    c = s.connect()
    c("BF.RESERVE k 0.001 5000 EXPANSION 4")
    c("BF.MADD k a b c")
    flat = c("BF.INFO k")
    equal(flat[0::2], NAMES)
    values = dict(zip(NAMES, flat[1::2]))
    equal(values["Capacity"], 5000)
    equal(values["Number of filters"], 1)
    equal(values["Number of items inserted"], 3)
    equal(values["Expansion rate"], 4)
    check(isinstance(values["Size"], int) and 5000 <= values["Size"] <= 50000, f"Size is {values['Size']}")
    three = s.connect(3)("BF.INFO k")
    check(isinstance(three, Map), f"BF.INFO returned {three!r} in RESP3")
    equal([name for name, _ in three], NAMES)
    equal([value for _, value in three], list(flat[1::2]))


@test
def info_of_one_field_is_one_value_or_a_map_of_one_pair(s):
    c, c3 = s.connect(), s.connect(3)
    c("BF.RESERVE k 0.01 100 NONSCALING")
    c("BF.ADD k x")
    whole = c("BF.INFO k")
    for i, word in enumerate(["CAPACITY", "SIZE", "FILTERS", "ITEMS", "EXPANSION"]):
        for written in (word, word.lower()):
            expect(c, ["BF.INFO", "k", written], [whole[2 * i + 1]])
        one = c3("BF.INFO", "k", word)
        check(isinstance(one, Map) and len(one) == 1, f"BF.INFO k {word} returned {one!r} in RESP3")
        equal(one[0][1], whole[2 * i + 1])
        equal(one[0][0], NAMES[i])
    equal(whole[9], None, "the expansion of a filter that does not grow")
    for word in ("NAME", "CAP", "CAPACITYX"):
        expect(c, ["BF.INFO", "k", word], Error("Invalid information value"))
    expect_error(c, "BF.INFO k SIZE ITEMS", "wrong number of arguments")


@test
def options_may_come_in_any_order_and_case(s):
    c = s.connect()
    options = [["CAPACITY", "3000"], ["ERROR", "0.001"], ["EXPANSION", "3"]]
    for number, order in enumerate([(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)]):
        key = f"k{number}"
        given = [word for i in order for word in options[i]]
        if number % 2:
            given = [word.lower() for word in given]
        expect(c, ["BF.INSERT", key] + given + ["ITEMS", "x", "y"], [1, 1])
        expect(c, ["BF.INFO", key, "CAPACITY"], [3000])
        expect(c, ["BF.INFO", key, "EXPANSION"], [3])
        equal(c("BF.INFO", key, "SIZE"), c("BF.INFO k0 SIZE"), "filters of equal parameters have equal sizes")
    expect(c, "BF.INSERT n NONSCALING ERROR 0.01 CAPACITY 10 ITEMS x", [1])
    expect(c, "BF.INFO n EXPANSION", [None])
    expect(c, "BF.RESERVE r 0.01 10 NONSCALING", OK)
    expect(c, "BF.INFO r EXPANSION", [None])
    expect(c, "BF.RESERVE z 0.01 10 EXPANSION 0", OK)
    expect(c, "BF.INFO z EXPANSION", [None])


@test
def options_of_insert_do_not_change_a_filter_that_exists(s):
    c = s.connect()
    c("BF.RESERVE k 0.01 1000 EXPANSION 4")
    before = c("BF.INFO k")
    expect(c, "BF.INSERT k CAPACITY 77 ERROR 0.2 EXPANSION 9 NOCREATE ITEMS x", [1])
    after = c("BF.INFO k")
    equal(after[:6] + after[8:], before[:6] + before[8:])


@test
def an_item_may_look_like_an_option(s):
    c = s.connect()
    expect(c, "BF.INSERT k ITEMS ITEMS CAPACITY NOCREATE", [1, 1, 1])
    expect(c, "BF.MEXISTS k ITEMS CAPACITY NOCREATE", [1, 1, 1])


@test
def bad_arguments_of_reserve_are_named(s):
    c = s.connect()
    for rate, want in (("x", Error("ERR bad error rate")), ("", Error("ERR bad error rate")),
                       ("nan", Error("ERR bad error rate")), ("0", RATE), ("1", RATE), ("-0.5", RATE), ("2", RATE),
                       ("inf", RATE), ("-inf", RATE), ("0.01x", Error("ERR bad error rate"))):
        expect(c, ["BF.RESERVE", "k", rate, "100"], want)
    for capacity, want in (("x", Error("ERR bad capacity")), ("1.5", Error("ERR bad capacity")),
                           ("", Error("ERR bad capacity")), (2**63, Error("ERR bad capacity")),
                           (-2**63 - 1, Error("ERR bad capacity")), ("0", CAPACITY), ("-1", CAPACITY),
                           (2**30 + 1, CAPACITY), (2**62, CAPACITY), (2**63 - 1, CAPACITY), (-2**63, CAPACITY)):
        expect(c, ["BF.RESERVE", "k", "0.01", capacity], want)
    for words, want in (("EXPANSION", Error("ERR no expansion")), ("EXPANSION x", Error("ERR bad expansion")),
                        ("EXPANSION -1", EXPANSION), ("EXPANSION 32769", EXPANSION),
                        (f"EXPANSION {2**63}", Error("ERR bad expansion")),
                        ("EXPANSION 2 NONSCALING", Error("Nonscaling filters cannot expand")),
                        ("NONSCALING EXPANSION 2", Error("Nonscaling filters cannot expand"))):
        expect(c, f"BF.RESERVE k 0.01 100 {words}", want)
    for words in ("", "0.01"):
        expect_error(c, f"BF.RESERVE k {words}", "wrong number of arguments")
    expect(c, "EXISTS k", 0)
    if not s.is_redisbloom:  # which ignores words that it does not know
        for words in ("FOO", "EXPANSIONS 2", "NONSCALINGG", "EXPANSION 2 3", "100 EXPANSION 2", "EXPANSION 2 MORE 3 4"):
            expect(c, f"BF.RESERVE k 0.01 100 {words}", Error("Unknown argument received"))
        expect(c, "EXISTS k", 0)


@test
def bad_arguments_of_insert_are_named(s):
    c = s.connect()
    for words, want in (("CAPACITY x ITEMS a", Error("Bad capacity")), ("ERROR x ITEMS a", Error("Bad error rate")),
                        ("EXPANSION x ITEMS a", Error("Bad expansion")),
                        (f"CAPACITY {2**63} ITEMS a", Error("Bad capacity")),
                        ("FOO ITEMS a", Error("Unknown argument received")),
                        ("CAPACITY 10 FOO 3 ITEMS a", Error("Unknown argument received")),
                        ("ERROR 0 ITEMS a", Error("Bad error rate")), ("ERROR 1 ITEMS a", Error("Bad error rate")),
                        ("ERROR nan ITEMS a", Error("Bad error rate")), ("CAPACITY 0 ITEMS a", Error("Bad capacity")),
                        (f"CAPACITY {2**30 + 1} ITEMS a", Error("Bad capacity")),
                        ("EXPANSION -1 ITEMS a", Error("Bad expansion")),
                        ("EXPANSION 32769 ITEMS a", Error("Bad expansion"))):
        expect(c, f"BF.INSERT k {words}", want)
    for words in ("", "ITEMS", "NOCREATE ITEMS", "CAPACITY 10", "CAPACITY 10 ITEMS", "NOCREATE NONSCALING"):
        expect_error(c, f"BF.INSERT k {words}", "wrong number of arguments")
    if not s.is_redisbloom:  # which reads options by their first letter
        for words in ("IGLOO a", "CAT 100 ITEMS a", "ERRATIC 0.1 ITEMS a", "NOSUCH ITEMS a",
                      "NONSCALING EXPANSION 2 ITEMS a"):
            check(isinstance(c(*f"BF.INSERT k {words}".split()), Error), words)
    expect(c, "EXISTS k", 0)


@test
def reserve_does_not_replace_a_key(s):
    c = s.connect()
    c("BF.RESERVE k 0.01 100")
    c("BF.ADD k x")
    before = c("BF.INFO k")
    expect(c, "BF.RESERVE k 0.001 100000", Error("ERR item exists"))
    equal(c("BF.INFO k"), before)
    c("SET string v")
    expect(c, "BF.RESERVE string 0.01 100", WRONGTYPE)
    expect(c, "GET string", b"v")


@test
def another_type_is_refused_and_left_alone(s):
    c = s.connect()
    c("SET string v")
    c("CF.ADD cuckoo x")
    for key in ("string", "cuckoo"):
        before = c("DUMP", key)
        for words in ("BF.ADD {} x", "BF.MADD {} x y", "BF.INSERT {} ITEMS x", "BF.CARD {}", "BF.INFO {}",
                      "BF.SCANDUMP {} 0"):
            expect(c, words.format(key), WRONGTYPE)
        for words in ("BF.EXISTS {} x", "BF.MEXISTS {} x y"):
            got = c(words.format(key))
            if s.is_redisbloom:  # a wrong type looks like a missing key
                check(got in (0, [0, 0]), f"{words}: {got!r}")
            else:
                equal(got, WRONGTYPE, words)
        check(isinstance(c("BF.LOADCHUNK", key, "1", "abc"), Error))
        equal(c("DUMP", key), before)
    c("BF.ADD bloom x")
    expect(c, "GET bloom", WRONGTYPE)
    expect(c, "CF.ADD bloom x", WRONGTYPE)


@test
def every_command_checks_its_arity(s):
    for protocol in (2, 3):
        c = s.connect(protocol)
        for command in COMMANDS:
            expect_error(c, [command], "wrong number of arguments")
        for call in ("BF.ADD k", "BF.ADD k a b", "BF.MADD k", "BF.INSERT k ITEMS", "BF.EXISTS k", "BF.EXISTS k a b",
                     "BF.MEXISTS k", "BF.CARD k k", "BF.SCANDUMP k", "BF.SCANDUMP k 0 0", "BF.LOADCHUNK k 1",
                     "BF.LOADCHUNK k 1 data more"):
            expect_error(c, call, "wrong number of arguments")
        expect(c, "DBSIZE", 0)


@test
def a_filter_that_does_not_grow_is_full_at_its_capacity(s):
    for c, yes, no in both(s):
        c("DEL k")
        c("BF.RESERVE k 0.01 100 NONSCALING")
        items = [f"item{i}" for i in range(1000)]
        replies = [c("BF.ADD", "k", item) for item in items]
        added = [r for r in replies if same(r, yes)]
        equal(len(added), 100)
        equal(c("BF.CARD k"), 100)
        first = next(i for i, r in enumerate(replies) if isinstance(r, Error))
        check(all(same(r, FULL) or same(r, no) for r in replies[first:]))
        check(sum(same(r, FULL) for r in replies) > 850)
        equal(c("BF.MEXISTS", "k", *items[:first]), [yes] * first)


@test
def a_batch_that_does_not_fit_has_an_element_for_every_item(s):
    for c, yes, no in both(s):
        for call in (["BF.MADD", "k"], ["BF.INSERT", "k", "ITEMS"]):
            c("DEL k")
            c("BF.RESERVE k 0.000000001 3 NONSCALING")
            got = c(*call, "a", "b", "c", "d", "a", "e")
            if s.is_redisbloom:  # stops at the first error
                equal(got, [yes, yes, yes, FULL])
            else:
                equal(got, [yes, yes, yes, FULL, no, FULL])
            equal(c("BF.MEXISTS", "k", "a", "b", "c"), [yes, yes, yes])
            expect(c, "BF.CARD k", 3)


@test
def a_filter_grows_and_keeps_its_items_and_its_rate(s):
    c = s.connect()
    for expansion in (1, 2, 4):
        key, count = f"k{expansion}", 20000
        expect(c, f"BF.RESERVE {key} 0.01 1000 EXPANSION {expansion}", OK)
        for start in range(0, count, 1000):
            c("BF.MADD", key, *[f"in{i}" for i in range(start, start + 1000)])
        replies = c("BF.MEXISTS", key, *[f"in{i}" for i in range(count)])
        equal(replies, [1] * count)
        card = c("BF.CARD", key)
        check(0.98 * count <= card <= count, f"{card} of {count} items were new")
        false = sum(c("BF.MEXISTS", key, *[f"out{i}" for i in range(count)]))
        # 200 expected at most; 280 is more than 5 standard deviations above.
        check(false < 280, f"{false} of {count} other items are found, at a rate of 0.01")
        check(c("BF.INFO", key, "FILTERS")[0] > 2)
        check(c("BF.INFO", key, "CAPACITY")[0] >= card)


@test
def two_filters_have_different_secret_hash_keys(s):
    if s.is_redisbloom:  # which has one public hash
        return
    c = s.connect()
    for key in ("a", "b"):
        c(f"BF.RESERVE {key} 0.2 1000 NONSCALING")
        c("BF.MADD", key, *[f"in{i}" for i in range(1000)])
    out = [f"out{i}" for i in range(2000)]
    check(c("BF.MEXISTS", "a", *out) != c("BF.MEXISTS", "b", *out), "the false positives of two filters are the same")
    check(not same(digest(c, "a"), digest(c, "b")))


@test
def commands_work_in_transactions_and_scripts(s):
    c = s.connect()
    equal(c.many(["MULTI", "BF.RESERVE k 0.01 100", "BF.ADD k x", "BF.EXISTS k x", "EXEC"])[-1], [OK, 1, 1])
    equal(c("EVAL", "return redis.call('BF.MADD', KEYS[1], 'x', 'y')", "1", "k"), [0, 1])
    got = c("EVAL", "return redis.pcall('BF.RESERVE', KEYS[1], '0.01', '100')", "1", "k")
    check(isinstance(got, Error) and "item exists" in got, repr(got))


@test
def commands_have_the_flags_keys_and_arity_of_redisbloom(s):
    c = s.connect()
    arities = {"BF.RESERVE": -4, "BF.ADD": 3, "BF.MADD": -3, "BF.INSERT": -4, "BF.EXISTS": 3, "BF.MEXISTS": -3,
               "BF.CARD": 2, "BF.INFO": -2, "BF.SCANDUMP": 3, "BF.LOADCHUNK": 4}
    writes = {"BF.RESERVE", "BF.ADD", "BF.MADD", "BF.INSERT", "BF.LOADCHUNK"}
    for command in COMMANDS:
        entry = c("COMMAND", "INFO", command)[0]
        equal(entry[1], arities[command], f"the arity of {command}")
        equal(entry[3:6], [1, 1, 1], f"the keys of {command}")
        flags = {str(flag) for flag in entry[2]}
        check(("write" in flags) == (command in writes), f"{command} has flags {flags}")
        check(("denyoom" in flags) == (command in writes), f"{command} has flags {flags}")
        check(("readonly" in flags) == (command not in writes), f"{command} has flags {flags}")
        equal(c("COMMAND", "GETKEYS", command, "thekey", *["x"] * (abs(arities[command]) - 2)), [b"thekey"])


if __name__ == "__main__":
    main()
