#!/usr/bin/python3
"""KITH.*: filters of any kind, equal geometry, merging and intersecting, statistics."""
from resp import Error, Map, NilArray, OK
from server import WRONGTYPE, check, digest, equal, expect, expect_error, main, test
from tool import Tool

STATS = [b"kind", b"options", b"count", b"estimated", b"capacity", b"rate", b"rate_now", b"bytes", b"memory", b"layers",
         b"hash", b"keys", b"recipe", b"deleted", b"state"]
COMMANDS = ["KITH.RESERVE", "KITH.ADD", "KITH.MADD", "KITH.EXISTS", "KITH.MEXISTS", "KITH.DEL", "KITH.COUNT",
            "KITH.MERGE",
            "KITH.INTERSECT", "KITH.STATS", "KITH.DUMP", "KITH.LOAD"]


def text(value):
    return value if isinstance(value, bytes) else value.encode() if isinstance(value, str) else value


def stats(c, key):
    got = c("KITH.STATS", key)
    pairs = got if isinstance(got, Map) else list(zip(got[0::2], got[1::2]))
    return {text(name): text(value) for name, value in pairs}


def both(suite):
    return [(suite.connect(2), 1, 0), (suite.connect(3), True, False)]


@test
def every_kind_can_be_reserved_and_used(s):
    with Tool() as t:
        addable, deletable = t.kinds("add", "-grow"), t.kinds("remove")
    for c, yes, no in both(s):
        c("FLUSHALL")
        for kind in addable:
            expect(c, f"KITH.RESERVE {kind} {kind} 0.001 1000000", OK)
            expect(c, f"KITH.ADD {kind} a", yes)
            expect(c, f"KITH.MADD {kind} b c", [yes, yes])
            expect(c, f"KITH.EXISTS {kind} a", yes)
            expect(c, f"KITH.EXISTS {kind} nothing", no)
            expect(c, f"KITH.MEXISTS {kind} a nothing c", [yes, no, yes])
            equal(stats(c, kind)[b"kind"], kind.encode())
            equal(stats(c, kind)[b"count"], 3)
            equal(stats(c, kind)[b"capacity"], 1000000)
        for kind in deletable:
            expect(c, f"KITH.COUNT {kind} a", 1)
            expect(c, f"KITH.DEL {kind} a", yes)
            expect(c, f"KITH.EXISTS {kind} a", no)
            equal(stats(c, kind)[b"deleted"], 1)
        for kind in set(addable) - set(deletable):
            check(isinstance(c(f"KITH.DEL {kind} a"), Error), f"{kind} has no deletion")
            expect(c, f"KITH.EXISTS {kind} a", yes)


@test
def filters_of_kith_are_keys_of_bf_and_cf(s):
    c = s.connect()
    c("KITH.RESERVE b blocked 0.01 1000")
    expect(c, "BF.ADD b x", 1)
    expect(c, "KITH.EXISTS b x", 1)
    expect(c, "CF.ADD b x", WRONGTYPE)
    c("KITH.RESERVE k cuckoo 0.01 1000")
    expect(c, "CF.ADD k x", 1)
    expect(c, "KITH.EXISTS k x", 1)
    expect(c, "BF.ADD k x", WRONGTYPE)
    c("BF.RESERVE bf 0.01 100")
    expect(c, "KITH.ADD bf x", 1)
    expect(c, "BF.EXISTS bf x", 1)
    c("SET string v")
    for call in ("KITH.ADD string x", "KITH.MADD string x", "KITH.EXISTS string x", "KITH.STATS string",
                 "KITH.DEL string x",
                 "KITH.RESERVE string blocked 0.01 100", "KITH.DUMP string 0", "KITH.MERGE b string",
                 "KITH.MERGE string b",
                 "KITH.COUNT string x", "KITH.RESERVE new LIKE string"):
        expect(c, call, WRONGTYPE)
    expect(c, "GET string", b"v")


@test
def statistics_have_all_their_names(s):
    for c, _, _ in both(s):
        c("DEL k")
        c("KITH.RESERVE k auto 0.01 1000 GROW")
        c("KITH.MADD", "k", *[f"i{n}" for n in range(3000)])
        got = c("KITH.STATS k")
        check(isinstance(got, Map) == (c is not s.server.connections[0]), "a map in RESP3 only")
        names = [name for name, _ in got] if isinstance(got, Map) else got[0::2]
        equal([text(name) for name in names], STATS)
        got = stats(c, "k")
        equal(got[b"kind"], b"layers")
        equal(got[b"hash"], b"siphash")
        equal(got[b"state"], b"complete")
        equal(got[b"rate"], b"0.01")
        check(2800 <= got[b"count"] <= 3000, f"count {got[b'count']}")
        check(2700 <= got[b"estimated"] <= 3300, f"estimated {got[b'estimated']}")
        check(0 < float(got[b"rate_now"]) <= 0.01, f"rate now {got[b'rate_now']}")
        check(got[b"layers"] > 1 and got[b"memory"] >= got[b"bytes"] > 1000)
        equal(c("MEMORY USAGE k") >= got[b"memory"], True)


@test
def options_of_reserve(s):
    c = s.connect()
    expect(c, ["KITH.RESERVE", "a", "cuckoo", "0.001", "1000", "OPTIONS", "b=2"], OK)
    check(b"b=2" in stats(c, "a")[b"options"])
    expect(c, "KITH.RESERVE b blocked 0.001 1000 GROW 4", OK)
    equal(stats(c, "b")[b"kind"], b"layers")
    check(b"growth=4" in stats(c, "b")[b"options"], repr(stats(c, "b")))
    expect(c, "KITH.RESERVE c blocked 0.001 1000 TRUSTED", OK)
    equal(stats(c, "c")[b"hash"], b"xxh3")
    expect(c, "kith.reserve d AUTO 0.001 1000 grow", OK)
    for words in ("", "nokind 0.01 100", "blocked x 100", "blocked 0 100", "blocked 1 100", "blocked nan 100",
                  "blocked inf 100",
                  "blocked 0.01 0", "blocked 0.01 -1", f"blocked 0.01 {2**63}", f"blocked 0.01 {2**63 - 1}",
                  "blocked 0.01 x",
                  "blocked 0.01 100 FOO", "blocked 0.01 100 OPTIONS", "blocked 0.01 100 OPTIONS b=999",
                  "blocked 0.01 100 OPTIONS nosuch=1", "blocked 0.01 100 GROW x", "blocked 0.01 100 GROW -1", "LIKE",
                  "LIKE none", "LIKE a b", "fuse 0.01 100 GROW"):
        got = c(*f"KITH.RESERVE bad {words}".split())
        check(isinstance(got, Error), f"KITH.RESERVE bad {words} returned {got!r}")
    expect(c, "EXISTS bad", 0)
    before = digest(c, "a")
    check(isinstance(c("KITH.RESERVE a blocked 0.01 100"), Error), "the key exists")
    equal(digest(c, "a"), before)


@test
def filters_like_another_can_be_merged(s):
    c = s.connect()
    for kind in ("bloom", "blocked", "counting", "blocked_counting"):
        a, b, whole = f"a{kind}", f"b{kind}", f"w{kind}"
        expect(c, f"KITH.RESERVE {a} {kind} 0.001 1000", OK)
        expect(c, f"KITH.RESERVE {b} LIKE {a}", OK)
        c("KITH.MADD", a, *[f"a{i}" for i in range(300)])
        c("KITH.MADD", b, *[f"b{i}" for i in range(300)])
        c("KITH.MADD", a, "shared")
        c("KITH.MADD", b, "shared")
        before = digest(c, a, b)
        expect(c, f"KITH.MERGE {whole} {a} {b}", OK)
        equal(c("KITH.MEXISTS", whole, *[f"a{i}" for i in range(300)], *[f"b{i}" for i in range(300)], "shared"),
              [1] * 601)
        equal(digest(c, a, b), before, "the sources")
        expect(c, f"KITH.MERGE {a} {a} {b}", OK)
        equal(c("KITH.MEXISTS", a, "a5", "b5"), [1, 1])
    with Tool() as t:
        intersectable = t.kinds("intersect")
    for kind in intersectable:
        a, b, common = f"ia{kind}", f"ib{kind}", f"ic{kind}"
        c(f"KITH.RESERVE {a} {kind} 0.001 1000")
        c(f"KITH.RESERVE {b} LIKE {a}")
        c(f"KITH.MADD {a} x shared")
        c(f"KITH.MADD {b} y shared")
        expect(c, f"KITH.INTERSECT {common} {a} {b}", OK)
        equal(c("KITH.MEXISTS", common, "shared", "x", "y"), [1, 0, 0])


@test
def reading_needs_only_the_permission_to_read(s):
    c = s.connect()
    c("BF.ADD b x")
    c("CF.ADD k x")
    c("KITH.RESERVE from bloom 0.01 100")
    c("KITH.RESERVE to LIKE from")
    c("KITH.ADD from x")
    c("ACL SETUSER reader on nopass +@all %R~*")
    c("ACL SETUSER merger on nopass +@all %RW~to %R~from")
    reader, merger = s.connect(), s.connect()
    expect(reader, "AUTH reader any", OK)
    expect(merger, "AUTH merger any", OK)
    for command in ("BF.EXISTS b x", "CF.EXISTS k x", "CF.COUNT k x", "KITH.EXISTS b x"):
        expect(reader, command, 1)
    for command in ("BF.INFO b", "CF.INFO k", "KITH.STATS b", "BF.SCANDUMP b 0", "KITH.DUMP k 0"):
        check(isinstance(reader(command), list), command)
    for command in ("BF.ADD b y", "CF.DEL k x", "KITH.MERGE to from", "KITH.RESERVE new bloom 0.01 100"):
        expect_error(reader, command, "NOPERM")
    expect(merger, "KITH.MERGE to from", OK)
    expect_error(merger, "KITH.MERGE from to", "NOPERM")
    expect(c, "KITH.EXISTS to x", 1)


@test
def a_filter_has_at_most_64_layers(s):
    c = s.connect()
    c("BF.RESERVE b 0.000000000001 1 EXPANSION 1")
    for i in range(64):
        expect(c, f"BF.ADD b item{i}", 1)
    expect_error(c, "BF.ADD b more", "at most 64 layers")


@test
def filters_that_differ_cannot_be_merged(s):
    c = s.connect()
    c("KITH.RESERVE a blocked 0.01 1000")
    c("KITH.RESERVE b blocked 0.01 1000")  # has another secret key
    c("KITH.RESERVE small blocked 0.01 10")
    c("KITH.MADD a x")
    c("KITH.MADD b y")
    before = digest(c, "a", "b")
    for call in ("KITH.MERGE a a b", "KITH.MERGE new a b", "KITH.INTERSECT a a b", "KITH.INTERSECT new a b",
                 "KITH.MERGE new a none",
                 "KITH.MERGE new none", "KITH.MERGE new a small", "KITH.INTERSECT new none", "KITH.MERGE a b"):
        got = c(call)
        check(isinstance(got, Error), f"{call} returned {got!r}")
    equal(digest(c, "a", "b"), before)
    expect(c, "EXISTS new", 0)


@test
def every_command_checks_its_arity_and_missing_keys(s):
    c = s.connect()
    for command in COMMANDS:
        expect_error(c, [command], "wrong number of arguments")
        entry = c("COMMAND", "INFO", command)[0]
        check(entry and entry[3] == 1, f"COMMAND INFO {command} is {entry!r}")
    for call in ("KITH.ADD k", "KITH.MADD k", "KITH.EXISTS k", "KITH.MEXISTS k", "KITH.DEL k", "KITH.COUNT k",
                 "KITH.MERGE k",
                 "KITH.INTERSECT k", "KITH.STATS k k", "KITH.DUMP k", "KITH.DUMP k 0 0", "KITH.LOAD k 0 5",
                 "KITH.LOAD k 0 5 a b"):
        expect_error(c, call, "wrong number of arguments")
    for call in ("KITH.ADD none x", "KITH.MADD none x", "KITH.STATS none", "KITH.DUMP none 0", "KITH.DEL none x"):
        check(isinstance(c(call), Error), call)
    expect(c, "KITH.EXISTS none x", 0)
    expect(c, "KITH.MEXISTS none x y", [0, 0])
    expect(c, "DBSIZE", 0)


@test
def full_filters_and_too_many_copies_are_named_errors(s):
    for c, yes, no in both(s):
        c("FLUSHALL")
        c("KITH.RESERVE k cuckoo 0.01 100")
        replies = c("KITH.MADD", "k", *[f"i{n}" for n in range(1000)])
        equal(len(replies), 1000)
        equal(sum(r is yes or r == 1 for r in replies if not isinstance(r, Error)), stats(c, "k")[b"count"])
        check(any(isinstance(r, Error) and "full" in r for r in replies), repr(replies[-1]))
        c("KITH.RESERVE copies cuckoo 0.01 1000")
        replies = [c("KITH.ADD copies same") for _ in range(100)]
        check(isinstance(replies[-1], Error) and "copies" in replies[-1], repr(replies[-1]))
        c("KITH.RESERVE bits bloom 0.01 10")
        replies = [c("KITH.ADD", "bits", f"i{n}") for n in range(100)]
        check(any(isinstance(r, Error) and "full" in r for r in replies[80:]), repr(replies[80:]))


@test
def grow_with_a_number_is_the_factor_of_layers_too(s):
    c = s.connect()
    for key, call in (("z", "layers 0.01 10 GROW 3"), ("y", "bloom 0.01 10 GROW 3")):
        c("DEL", key)
        expect(c, f"KITH.RESERVE {key} {call}", OK)
        check(b"growth=3" in stats(c, key)[b"options"], stats(c, key)[b"options"])
    for n in ("99999999999999999999", "0", "32769", "-1"):
        expect_error(c, f"KITH.RESERVE new layers 0.01 10 GROW {n}", "expansion must be in the range [1, 32768]")
    # Options that do not fit must not be cut off.
    got = c("KITH.RESERVE", "new", "blocked_counting", "0.01", "10", "GROW", "32768", "OPTIONS", " " * 96 + "x=2")
    check(isinstance(got, Error), f"{got!r}")
    c("DEL z")
    expect(c, "KITH.RESERVE z layers 0.01 10 GROW REMOVE OPTIONS inner=cuckoo", OK)


@test
def what_a_filter_cannot_do_is_named(s):
    c = s.connect()
    c("DEL b g h new")
    c("KITH.RESERVE b bloom 0.01 100")
    c("KITH.RESERVE g bloom 0.01 100 GROW")
    c("KITH.RESERVE h LIKE g")
    for key in ("b", "g"):
        expect_error(c, f"KITH.DEL {key} x", "this filter does not support deletion")
    for call in ("KITH.MERGE g h", "KITH.MERGE new g h", "KITH.MERGE b g"):
        expect_error(c, call, "filters that grow cannot be merged")
    expect_error(c, "KITH.INTERSECT g h", "filters that grow cannot be intersected")
    c("KITH.RESERVE o overlap 0.01 100")
    c("KITH.RESERVE p LIKE o")
    expect_error(c, "KITH.INTERSECT o p", "filters of kind overlap cannot be intersected")


def with_note(t, c, key, note):
    """Loads a filter with this note."""
    t.keys("list", 0, 1000)
    data = t("build", "-o", "-", "--note", note, "list")
    equal(c("KITH.LOAD", key, 0, len(data), data), len(data))


@test
def notes_are_returned(s):
    c = s.connect()
    with Tool() as t:
        with_note(t, c, "k", "one two")
    expect(c, "KITH.NOTE k note", b"one two")
    for name in ("other", "", "Note", "note\0", "note "):
        expect_error(c, ["KITH.NOTE", "k", name], "no such note")
    c("BF.ADD k more")
    expect(c, "COPY k copy", 1)
    expect(c, "KITH.NOTE copy note", b"one two")
    c("KITH.RESERVE like LIKE k")
    expect_error(c, "KITH.NOTE like note", "no such note")
    expect(c, "KITH.NOTE nosuch note", None)
    c("SET text x")
    expect(c, "KITH.NOTE text note", WRONGTYPE)
    _, total, data = c("KITH.DUMP k 0")
    c("KITH.LOAD", "half", 0, total, data[:100])
    expect_error(c, "KITH.NOTE half note", "")


@test
def unlink_removes_only_a_filter_with_the_note(s):
    server = s.start("--notify-keyspace-events", "KEA", "--appendonly", "yes", "--aof-use-rdb-preamble", "no")
    c, watcher = server.connect(), server.connect()
    with Tool() as t:
        for key in ("a", "b", "c"):
            with_note(t, c, key, key)
    c("SET text x")
    c("BF.ADD plain x")
    kept = [(key, c("DUMP", key)) for key in ("b", "c", "text", "plain")]
    expect(watcher, "WATCH a b", OK)
    for call, part in (("a note b", "another one"), ("a other a", "no such note"), ("a note A", "another one"),
                       ("a note aa", "another one"), ("plain note a", "no such note"), ("text note x", "WRONGTYPE")):
        expect_error(c, "KITH.UNLINK " + call, part)
    expect_error(c, ["KITH.UNLINK", "a", "note", "a\0", ""], "another one")
    expect_error(c, "KITH.UNLINK a note", "wrong number")
    expect(c, "KITH.UNLINK nosuch note a", 0)
    expect(watcher, "MULTI", OK)
    expect(watcher, "EXEC", [])  # nothing has changed so far
    events = server.connect()
    equal(events("SUBSCRIBE", "__keyspace@0__:a")[0], b"subscribe")
    expect(watcher, "WATCH a", OK)
    expect(c, "KITH.UNLINK a note x a y", 1)
    expect(c, "EXISTS a", 0)
    equal(events.read()[2], b"del")
    expect(watcher, "MULTI", OK)
    watcher("PING")
    check(watcher("EXEC") is NilArray, "EXEC was not aborted")
    equal([(key, c("DUMP", key)) for key, _ in kept], kept)
    # In a transaction, an error leaves the key in the way of RENAMENX.
    for name, unlinked, renamed in (("b", Error("ERR the note of the filter is another one"), 0), ("c", 1, 1)):
        c("SET from x")
        expect(c, "MULTI", OK)
        c("KITH.UNLINK", name, "note", "c")
        c("RENAMENX", "from", name)
        expect(c, "EXEC", [unlinked, renamed])
    server.restart()
    c = server.connect()
    equal(c("EXISTS", "a", "b", "c", "text", "plain"), 4)
    equal(str(c("TYPE c")), "string")


if __name__ == "__main__":
    main()
