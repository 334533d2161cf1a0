#!/usr/bin/python3
"""CF.*: every command, its replies in both protocols, its errors, and bad input. As bf.py, for cuckoo filters."""
from resp import Error, Map, OK, Simple, same
from server import WRONGTYPE, check, equal, expect, expect_error, main, test

NAMES = [Simple(name) for name in ("Size", "Number of buckets", "Number of filters", "Number of items inserted",
                                   "Number of items deleted", "Bucket size", "Expansion rate", "Max iterations")]
COMMANDS = ["CF.RESERVE", "CF.ADD", "CF.ADDNX", "CF.INSERT", "CF.INSERTNX", "CF.EXISTS", "CF.MEXISTS", "CF.DEL",
            "CF.COUNT", "CF.INFO", "CF.COMPACT", "CF.SCANDUMP", "CF.LOADCHUNK"]


# Hash keys are secret and random, so an absent item can look like one that was added. For two items the probability is
# 1e-8 with this capacity, and 1e-5 with the default one.
LARGE = 1000000


def both(suite):
    return [(suite.connect(2), 1, 0), (suite.connect(3), True, False)]


def values(connection, key):
    """CF.INFO as a dictionary, in either protocol."""
    got = connection("CF.INFO", key)
    pairs = got if isinstance(got, Map) else zip(got[0::2], got[1::2])
    return dict(pairs)


@test
def adding_counting_and_deleting(s):
    for c, yes, no in both(s):
        c("DEL k")
        expect(c, f"CF.RESERVE k {LARGE}", OK)
        expect(c, "CF.ADD k a", yes)
        expect(c, "CF.ADD k a", yes)
        expect(c, "CF.COUNT k a", 2)
        expect(c, "CF.ADDNX k a", no)
        expect(c, "CF.ADDNX k b", yes)
        expect(c, "CF.EXISTS k b", yes)
        expect(c, "CF.EXISTS k z", no)
        expect(c, "CF.COUNT k z", 0)
        expect(c, "CF.DEL k a", yes)
        expect(c, "CF.COUNT k a", 1)
        expect(c, "CF.DEL k a", yes)
        expect(c, "CF.DEL k a", no)
        expect(c, "CF.EXISTS k a", no)
        expect(c, "CF.MEXISTS k a b c", [no, yes, no])
        equal(values(c, "k")["Number of items inserted"], 1)
        equal(values(c, "k")["Number of items deleted"], 2)


@test
def insertnx_replies_with_integers_in_both_protocols(s):
    for c, yes, _ in both(s):
        c("DEL k")
        expect(c, f"CF.INSERT k CAPACITY {LARGE} ITEMS a b a", [yes, yes, yes])
        expect(c, "CF.COUNT k a", 2)
        expect(c, "CF.INSERTNX k ITEMS a c c", [0, 1, 0])
        expect(c, "CF.COUNT k c", 1)


@test
def a_missing_key_has_no_items(s):
    for c, _, no in both(s):
        expect(c, "CF.EXISTS none x", no)
        expect(c, "CF.MEXISTS none x y", [no, no])
        expect(c, "CF.COUNT none x", 0)
        expect(c, "CF.DEL none x", Error("Not found"))
        expect(c, "CF.INFO none", Error("ERR not found"))
        expect(c, "CF.COMPACT none", Error("Cuckoo filter was not found"))
        expect(c, "CF.INSERT none NOCREATE ITEMS x", Error("ERR not found"))
        expect(c, "CF.INSERTNX none NOCREATE ITEMS x", Error("ERR not found"))
        expect(c, "CF.SCANDUMP none 0", Error("ERR not found"))
        expect(c, "CF.SCANDUMP none x", Error("Invalid position"))
        expect(c, "EXISTS none", 0)


@test
def info_has_eight_names_in_order(s):
    c = s.connect()
    c("CF.RESERVE k 4096 BUCKETSIZE 4 MAXITERATIONS 30 EXPANSION 2")
    c("CF.INSERT k ITEMS a b c")
    c("CF.DEL k a")
    flat = c("CF.INFO k")
    equal(flat[0::2], NAMES)
    got = values(c, "k")
    equal(got["Number of filters"], 1)
    equal(got["Number of items inserted"], 2)
    equal(got["Number of items deleted"], 1)
    equal(got["Bucket size"], 4)
    equal(got["Expansion rate"], 2)
    equal(got["Max iterations"], 30)
    check(got["Number of buckets"] * 4 >= 4096, f"{got['Number of buckets']} buckets")
    check(4096 <= got["Size"] <= 40000, f"Size is {got['Size']}")
    three = s.connect(3)("CF.INFO k")
    check(isinstance(three, Map), f"CF.INFO returned {three!r} in RESP3")
    equal([name for name, _ in three], NAMES)
    equal([value for _, value in three], list(flat[1::2]))


@test
def options_may_come_in_any_order_and_case(s):
    c = s.connect()
    options = ["BUCKETSIZE 3", "MAXITERATIONS 25", "EXPANSION 4"]
    for number, order in enumerate([(0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)]):
        words = " ".join(options[i] for i in order)
        expect(c, f"CF.RESERVE k{number} 1000 {words if number % 2 else words.lower()}", OK)
        got = values(c, f"k{number}")
        equal([got["Bucket size"], got["Max iterations"], got["Expansion rate"]], [3, 25, 4])
    if not s.is_redisbloom:
        expect(c, "CF.RESERVE e 1000 ERROR 0.001 BUCKETSIZE 2", OK)
        expect(c, "CF.RESERVE f 1000 BUCKETSIZE 2 error 0.0001", OK)
        check(values(c, "f")["Size"] > values(c, "e")["Size"] > 0, "a lower rate needs more memory")
    expect(c, "CF.INSERT i NOCREATE ITEMS a", Error("ERR not found"))
    expect(c, f"CF.INSERT i CAPACITY {LARGE} ITEMS a", [1])
    expect(c, "CF.INSERT j items a", [1])
    check(values(c, "i")["Size"] > values(c, "j")["Size"])
    expect(c, "CF.INSERT i CAPACITY 5000 NOCREATE ITEMS CAPACITY ITEMS", [1, 1])
    expect(c, "CF.MEXISTS i CAPACITY ITEMS NOCREATE", [1, 1, 0])


@test
def every_bucket_size_is_taken_and_echoed(s):
    c = s.connect()
    for size in (1, 2, 3, 4, 5, 8, 9, 100, 255):
        expect(c, f"CF.RESERVE k{size} 2000 BUCKETSIZE {size}", OK)
        equal(values(c, f"k{size}")["Bucket size"], size)
        items = [f"i{n}" for n in range(1500)]
        equal(c("CF.INSERT", f"k{size}", "ITEMS", *items), [1] * 1500)
        equal(c("CF.MEXISTS", f"k{size}", *items), [1] * 1500)


@test
def bad_arguments_of_reserve_are_named(s):
    c = s.connect()
    capacity = Error("Capacity must be in the range [2 * BUCKETSIZE, 1073741824]")
    for words, want in (("x", Error("Bad capacity")), ("1.5", Error("Bad capacity")),
                        (f"{2**63}", Error("Bad capacity")), ("0", capacity), ("-1", capacity), ("3", capacity),
                        (f"{2**30 + 1}", capacity), (f"{2**63 - 1}", capacity), ("7 BUCKETSIZE 4", capacity),
                        ("100 BUCKETSIZE x", Error("Couldn't parse BUCKETSIZE")),
                        ("100 MAXITERATIONS x", Error("Couldn't parse MAXITERATIONS")),
                        ("100 EXPANSION x", Error("Couldn't parse EXPANSION")),
                        ("1000 BUCKETSIZE 0", Error("BUCKETSIZE: value must be in the range [1, 255]")),
                        ("1000 BUCKETSIZE 256", Error("BUCKETSIZE: value must be in the range [1, 255]")),
                        ("100 MAXITERATIONS 0", Error("MAXITERATIONS: value must be in the range [1, 65535]")),
                        ("100 MAXITERATIONS 65536", Error("MAXITERATIONS: value must be in the range [1, 65535]")),
                        ("100 EXPANSION -1", Error("EXPANSION: value must be in the range [0, 32768]")),
                        ("100 EXPANSION 32769", Error("EXPANSION: value must be in the range [0, 32768]"))):
        expect(c, f"CF.RESERVE k {words}", want)
    check(isinstance(c("CF.RESERVE", "k", ""), Error))
    if not s.is_redisbloom:
        for words in ("100 FOO 3", "100 BUCKETS 3", "100 ERROR x", "100 ERROR 0", "100 ERROR 1", "100 ERROR nan",
                      "100 ERROR inf", "100 ERROR -1", "100 BUCKETSIZE", "100 3"):
            check(isinstance(c(f"CF.RESERVE k {words}"), Error), words)
    expect(c, "EXISTS k", 0)
    c("CF.RESERVE k 100")
    expect(c, "CF.RESERVE k 100", Error("ERR item exists"))
    c("SET string v")
    expect(c, "CF.RESERVE string 100", WRONGTYPE)


@test
def bad_arguments_of_insert_are_named(s):
    c = s.connect()
    for command in ("CF.INSERT", "CF.INSERTNX"):
        for words, want in (("CAPACITY x ITEMS a", Error("Bad capacity")),
                            ("CAPACITY 0 ITEMS a",
                             Error("Capacity must be in the range [cf-bucket-size * 2, 1073741824]")),
                            (f"CAPACITY {2**30 + 1} ITEMS a",
                             Error("Capacity must be in the range [cf-bucket-size * 2, 1073741824]")),
                            ("FOO ITEMS a", Error("Unknown argument received"))):
            expect(c, f"{command} k {words}", want)
        for words in ("ITEMS", "NOCREATE ITEMS", "CAPACITY 100 ITEMS", "CAPACITY 100"):
            expect_error(c, f"{command} k {words}", "wrong number of arguments")
        if not s.is_redisbloom:  # which reads options by their first letter
            for words in ("IGLOO a", "CAT 100 ITEMS a", "NOSUCH ITEMS a"):
                expect(c, f"{command} k {words}", Error("Unknown argument received"))
    expect(c, "EXISTS k", 0)


@test
def another_type_is_refused_and_left_alone(s):
    c = s.connect()
    c("SET string v")
    c("BF.ADD bloom x")
    for key in ("string", "bloom"):
        before = c("DUMP", key)
        for words in ("CF.ADD {} x", "CF.ADDNX {} x", "CF.INSERT {} ITEMS x", "CF.INSERTNX {} ITEMS x", "CF.INFO {}"):
            expect(c, words.format(key), WRONGTYPE)
        for words in ("CF.EXISTS {} x", "CF.MEXISTS {} x y", "CF.COUNT {} x", "CF.DEL {} x", "CF.COMPACT {}",
                      "CF.SCANDUMP {} 0"):
            if not s.is_redisbloom:  # for which a wrong type looks like a missing key
                expect(c, words.format(key), WRONGTYPE)
        check(isinstance(c("CF.LOADCHUNK", key, "1", "abc"), Error))
        equal(c("DUMP", key), before)
    c("CF.ADD cuckoo x")
    expect(c, "GET cuckoo", WRONGTYPE)
    expect(c, "BF.ADD cuckoo x", WRONGTYPE)


@test
def every_command_checks_its_arity(s):
    c = s.connect()
    for command in COMMANDS:
        expect_error(c, [command], "wrong number of arguments")
    for call in ("CF.RESERVE k", "CF.ADD k", "CF.ADD k a b", "CF.ADDNX k", "CF.ADDNX k a b", "CF.INSERT k ITEMS",
                 "CF.INSERTNX k ITEMS", "CF.EXISTS k", "CF.MEXISTS k", "CF.EXISTS k a b", "CF.COUNT k",
                 "CF.COUNT k a b",
                 "CF.DEL k", "CF.DEL k a b", "CF.INFO k k", "CF.SCANDUMP k", "CF.LOADCHUNK k 1"):
        expect_error(c, call, "wrong number of arguments")
    expect(c, "DBSIZE", 0)


@test
def a_filter_that_does_not_grow_is_full_at_last(s):
    for c, yes, no in both(s):
        c("DEL k")
        expect(c, "CF.RESERVE k 100 BUCKETSIZE 2 EXPANSION 0", OK)
        items = [f"item{i}" for i in range(600)]
        replies = [c("CF.ADD", "k", item) for item in items]
        added = [item for item, reply in zip(items, replies) if same(reply, yes)]
        check(100 <= len(added) <= 256, f"{len(added)} items were added")
        check(all(same(r, yes) or same(r, Error("Filter is full")) for r in replies), repr(set(map(str, replies))))
        equal(c("CF.MEXISTS", "k", *added), [yes] * len(added))
        refused = [item for item, reply in zip(items, replies) if not same(reply, yes)]
        got = c("CF.INSERT", "k", "ITEMS", added[0], *refused[:20])
        equal(len(got), 21)
        check(got.count(-1 if yes == 1 and type(yes) is int else False) >= 15, repr(got))
        got = c("CF.INSERTNX", "k", "ITEMS", added[0], *refused[:20])
        equal(got[0], 0)
        check(got.count(-1) >= 15, repr(got))
        equal(c("CF.DEL", "k", added[0]), yes)
        equal(values(c, "k")["Number of filters"], 1)


@test
def a_filter_grows_and_keeps_its_items_and_its_rate(s):
    c = s.connect()
    for expansion in (1, 2, 4):
        key, count = f"k{expansion}", 20000
        expect(c, f"CF.RESERVE {key} 1000 EXPANSION {expansion}", OK)
        items = [f"in{i}" for i in range(count)]
        for start in range(0, count, 1000):
            equal(c("CF.INSERT", key, "ITEMS", *items[start:start + 1000]), [1] * 1000)
        equal(c("CF.MEXISTS", key, *items), [1] * count)
        check(values(c, key)["Number of filters"] > 1)
        if not s.is_redisbloom:  # whose rate grows with the number of its filters
            false = sum(c("CF.MEXISTS", key, *[f"out{i}" for i in range(count)]))
            # 200 expected at most; 280 is more than 5 standard deviations above.
            check(false < 280, f"{false} of {count} other items are found, at a rate of 0.01")
        expect(c, f"CF.COMPACT {key}", OK)
        for item in items[:count // 2]:
            c("CF.DEL", key, item)
        expect(c, f"CF.COMPACT {key}", OK)
        equal(c("CF.MEXISTS", key, *items[count // 2:]), [1] * (count - count // 2), "after deletions and COMPACT")


@test
def one_repeated_item_does_not_grow_a_filter_without_end(s):
    if s.is_redisbloom:
        return
    for c, yes, _ in both(s):
        c("DEL k")
        c(f"CF.RESERVE k {LARGE} BUCKETSIZE 4 EXPANSION 2")
        size = values(c, "k")["Size"]
        replies = [c("CF.ADD k same") for _ in range(500)]
        check(isinstance(replies[-1], Error), f"500 copies of an item were added; the last reply is {replies[-1]!r}")
        first = next(i for i, r in enumerate(replies) if isinstance(r, Error))
        equal(replies, [yes] * first + [replies[-1]] * (500 - first))
        check("copies" in replies[-1] or "times" in replies[-1], replies[-1])
        equal(c("CF.COUNT k same"), first)
        equal(values(c, "k")["Size"], size)
        equal(c("CF.ADD k other"), yes)
        got = c("CF.INSERT k ITEMS same other")
        check(not same(got[0], yes) and same(got[1], yes), repr(got))
        for _ in range(first):
            equal(c("CF.DEL k same"), yes)
        equal(c("CF.EXISTS k same"), False if yes is True else 0)


@test
def items_are_arbitrary_bytes(s):
    c = s.connect()
    items = [b"", b"\0", b"\0\0", b"\r\n", bytes(range(256)), b"x" * 100000]
    equal(c("CF.INSERT", "k", "ITEMS", *items), [1] * len(items))
    equal(c("CF.MEXISTS", "k", *items), [1] * len(items))
    for item in items:
        equal(c("CF.DEL", "k", item), 1)


@test
def commands_have_the_flags_keys_and_arity_of_redisbloom(s):
    c = s.connect()
    arities = {"CF.RESERVE": -3, "CF.ADD": 3, "CF.ADDNX": 3, "CF.INSERT": -4, "CF.INSERTNX": -4, "CF.EXISTS": 3,
               "CF.MEXISTS": -3, "CF.DEL": 3, "CF.COUNT": 3, "CF.INFO": 2, "CF.COMPACT": 2, "CF.SCANDUMP": 3,
               "CF.LOADCHUNK": 4}
    reads = {"CF.EXISTS", "CF.MEXISTS", "CF.COUNT", "CF.INFO", "CF.SCANDUMP"}
    for command in COMMANDS:
        if command == "CF.COMPACT" and s.is_redisbloom:  # which flags it readonly and takes any arity
            continue
        entry = c("COMMAND", "INFO", command)[0]
        equal(entry[1], arities[command], f"the arity of {command}")
        equal(entry[3:6], [1, 1, 1], f"the keys of {command}")
        flags = {str(flag) for flag in entry[2]}
        check(("readonly" in flags) == (command in reads), f"{command} has flags {flags}")
        check(("write" in flags) == (command not in reads), f"{command} has flags {flags}")


if __name__ == "__main__":
    main()
