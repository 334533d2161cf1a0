#!/usr/bin/python3
"""kith push, kith pull and kith query with a server that gives odd replies, or none: every one is an error that names
the server and what it said, files stay as they were, and the tool never hangs, crashes or takes a wrong result."""
import struct

from fake import DROP, SILENT, Cut, Fake, array, bulk, error, integer, simple
from server import check, equal, main, test, wait_until
from tool import Tool

OTHER = b"an older file"


def address(fake, key="k", scheme="redis"):
    return f"{scheme}://127.0.0.1:{fake.port}/{key}"


def filter_file(tool, *options):
    tool.keys("list", 0, 2000)
    tool("build", "-o", "f.kith", *options, "list")
    return tool.read("f.kith")


def store(data, **odd):
    """A server whose key k holds the kith file `data`. `odd` maps a command to a function that replaces its reply."""
    def reply(args):
        name = args[0].decode().upper()
        if name in odd:
            return odd[name](args)
        return {
            "TYPE": lambda: simple("kithbloom"),
            "KITH.DUMP": lambda: array(integer(0), integer(len(data)), bulk(data)),
            "KITH.STATS": lambda: array(bulk(b"kind"), bulk(b"bloom"), bulk(b"recipe"), integer(0)),
            "KITH.MEXISTS": lambda: array(*[integer(1) for _ in args[2:]]),
        }.get(name, lambda: error(f"ERR unknown command '{name}'"))()
    return reply


def accepts(**odd):
    """A server that takes a push; `odd` as above."""
    def reply(args):
        name = args[0].decode().upper()
        if name in odd:
            return odd[name](args)
        return {
            "TYPE": lambda: simple("none"),
            "WATCH": lambda: simple("OK"),
            "KITH.LOAD": lambda: integer(int(args[2]) + len(args[4])),
            "EXPIRE": lambda: integer(1),
            "MULTI": lambda: simple("OK"),
            "PERSIST": lambda: simple("QUEUED"),
            "RENAME": lambda: simple("QUEUED"),
            "RENAMENX": lambda: simple("QUEUED"),
            "EXEC": lambda: array(integer(1), integer(1), integer(0)),
            "DEL": lambda: integer(1),
        }.get(name, lambda: error(f"ERR unknown command '{name}'"))()
    return reply


def chunks_of(data, sizes, total=None):
    """Replies to KITH.DUMP: pieces of the given sizes."""
    def dump(args):
        at = int(args[2])
        step = sizes[0] if at == 0 else sizes[min(len(sizes) - 1, 1)]
        piece = data[at:at + step]
        following = at + len(piece)
        return array(integer(0 if following >= len(data) else following), integer(total or len(data)), bulk(piece))
    return dump


# ---- pull ----

@test
def chunks_are_joined_to_the_file(s):
    with Tool() as t:
        data = filter_file(t)
        with Fake(store(data, **{"KITH.DUMP": chunks_of(data, [1, 999])})) as fake:
            t("pull", address(fake), "-o", "copy.kith")
            equal(t.read("copy.kith"), data)
            equal(t("pull", address(fake)), data)
            t.write("copy.kith", OTHER)
            t("pull", address(fake), "-o", "copy.kith")
            equal(t.read("copy.kith"), data)
            check(not t.left_over())


def refused_pull(reply, says, seconds=5):
    with Tool() as t:
        t.write("copy.kith", OTHER)
        with Fake(reply) as fake:
            t.fails("pull", address(fake), "-o", "copy.kith", "--timeout", seconds, says=[f":{fake.port}", *says])
        equal(t.read("copy.kith"), OTHER)
        check(not t.left_over())


@test
def damaged_and_truncated_filters_are_refused(s):
    with Tool() as t:
        data = filter_file(t)
    flipped = data[:500] + bytes([data[500] ^ 1]) + data[501:]
    refused_pull(store(flipped), ["damaged"])
    refused_pull(store(data, **{"KITH.DUMP": chunks_of(data[:-100], [300], len(data))}), ["do not add up"])
    refused_pull(store(data[:-100]), [""])
    refused_pull(store(b"not a filter"), ["not a kith file"])
    refused_pull(store(b""), [""])


@test
def sizes_that_do_not_fit_are_refused(s):
    with Tool() as t:
        data = filter_file(t)
    refused_pull(store(data, **{"KITH.DUMP": lambda a: array(integer(0), integer(10), bulk(data))}), ["do not add up"])
    # Chunks without data, and a size that changes: the pull would never end.
    refused_pull(store(data, **{"KITH.DUMP": lambda a: array(integer(7), integer(1000), bulk(b""))}), ["do not add up"])
    refused_pull(store(data, **{"KITH.DUMP": lambda a: array(integer(int(a[2]) + 1), integer(1000 + int(a[2])),
                                                             bulk(b"x"))}), ["do not add up"])
    huge = array(integer(0), integer(1 << 60), bulk(b"x"))
    refused_pull(store(data, **{"KITH.DUMP": lambda a: huge}), ["memory"])


@test
def replies_of_another_shape_are_refused(s):
    for odd in (integer(1), bulk(b"x"), array(), simple("OK"), array(integer(0), integer(5)),
                array(integer(0), integer(1), bulk(None)), array(integer(0), integer(1), array()),
                array(integer(-1), integer(1), bulk(b"x")), array(bulk(b"0"), integer(1), bulk(b"x")),
                array(integer(5), integer(9), bulk(None))):
        says = ["KITH.DUMP"] if odd != array(integer(0), integer(1), bulk(None)) else [""]
        refused_pull(store(b"", **{"KITH.DUMP": lambda a, odd=odd: odd}), says)


@test
def the_words_of_the_server_are_shown(s):
    changed = "ERR the filter has changed since this dump began; start again with cursor 0"
    refused_pull(store(b"", **{"KITH.DUMP": lambda a: error(changed)}), ["KITH.DUMP", changed])
    refused_pull(store(b"", TYPE=lambda a: error("NOPERM no rights for 'type'")), ["TYPE", "NOPERM no rights"])
    refused_pull(store(b"", TYPE=lambda a: error("NOAUTH Authentication required.")), ["REDISCLI_AUTH"])
    refused_pull(store(b"", TYPE=lambda a: simple("none")), ["no such key"])
    refused_pull(store(b"", TYPE=lambda a: simple("zset")), ["zset", "not a filter"])
    refused_pull(store(b"", TYPE=lambda a: simple("bloomfltr")), ["valkey-bloom"])
    refused_pull(store(b"", TYPE=lambda a: error("MOVED 5 127.0.0.1:1")), ["redis+cluster://"])


@test
def lost_connections_and_silence_are_errors(s):
    refused_pull(lambda args: DROP, ["closed the connection"])
    refused_pull(lambda args: SILENT, ["no reply within 1 s"], seconds=1)
    refused_pull(lambda args: Cut(b"$100\r\nhalf"), ["closed the connection"])
    refused_pull(lambda args: b"HTTP/1.1 400 Bad Request\r\n\r\n", ["Protocol error"])
    with Tool() as t:
        data = filter_file(t)
    refused_pull(store(data, **{"KITH.DUMP": lambda a: Cut(array(integer(0), integer(len(data)), bulk(data))[:-300])}),
                 ["closed the connection"])
    with Tool() as t:
        with Fake(lambda args: DROP) as fake:
            gone = address(fake)
        t.fails("pull", gone, "-o", "f.kith", says=["cannot connect", "refused"])
        t.fails("pull", "redis://no.such.host.invalid/k", "-o", "f.kith",
                says=["no.such.host.invalid", "cannot connect"])
        check(not t.path("f.kith").exists())


# ---- push ----

@test
def a_push_uses_a_temporary_key_that_expires(s):
    with Tool() as t:
        data = filter_file(t)
        with Fake(accepts()) as fake:
            t("push", "f.kith", address(fake, "some%20key"))
            loads = [call for call in fake.calls if call[0] == b"KITH.LOAD"]
            name = loads[0][1]
            check(name.startswith(b"some key:kith-push-"), name)
            equal(b"".join(call[4] for call in loads), data)
            equal([call[3] for call in loads], [b"%d" % len(data)])
            expire = [b"EXPIRE", name, b"3600"]
            equal(fake.calls[-6:], [expire, [b"MULTI"], [b"PERSIST", name], [b"RENAMENX", name, b"some key"], expire,
                                    [b"EXEC"]])


@test
def a_long_file_is_sent_in_chunks(s):
    with Tool() as t:
        t.keys("list", 0, 1000)
        t("build", "-o", "f.kith", "-k", "bloom", "-n", "8M", "list")
        data = t.read("f.kith")
        with Fake(accepts()) as fake:
            t("push", "f.kith", address(fake))
            loads = [call for call in fake.calls if call[0] == b"KITH.LOAD"]
            check(len(loads) > 3 and all(len(call[4]) <= 16 << 20 for call in loads))
            equal([int(call[2]) for call in loads], [sum(len(x[4]) for x in loads[:i]) for i in range(len(loads))])
            equal(b"".join(call[4] for call in loads), data)


@test
def a_failed_push_removes_its_temporary_key(s):
    refusals = {
        "KITH.LOAD": (lambda a: error("ERR the filter is larger than kith.max-filter-bytes"), "max-filter-bytes"),
        "EXPIRE": (lambda a: integer(0), "removed the temporary key"),
        "EXEC": (lambda a: array(integer(1), integer(0), integer(1)), "--replace"),
        "RENAMENX": (lambda a: error("ERR no"), "RENAMENX said: ERR no"),
    }
    for name, (odd, says) in refusals.items():
        with Tool() as t:
            filter_file(t)
            with Fake(accepts(**{name: odd})) as fake:
                t.fails("push", "f.kith", address(fake), says=[says, f":{fake.port}"] if name != "EXPIRE" else says)
                wait_until(lambda: fake.names()[-1:] == ["DEL"], about="the temporary key is removed")
                loaded = [call[1] for call in fake.calls if call[0] == b"KITH.LOAD"]
                equal(fake.calls[-1], [b"DEL", loaded[0]])


@test
def wrong_counts_of_loaded_bytes_are_errors(s):
    for odd in (integer(0), integer(-1), integer(1 << 40), simple("OK"), bulk(b"x"), array()):
        with Tool() as t:
            filter_file(t)
            with Fake(accepts(**{"KITH.LOAD": lambda a, odd=odd: odd})) as fake:
                t.fails("push", "f.kith", address(fake), says=["KITH.LOAD"])


@test
def a_push_without_the_module_says_so(s):
    with Tool() as t:
        filter_file(t)
        with Fake(accepts(**{"KITH.LOAD": lambda a: error("ERR unknown command 'KITH.LOAD', with args")})) as fake:
            t.fails("push", "f.kith", address(fake), says=["load the module kith.so", "KITH.LOAD"])


@test
def only_filters_are_replaced(s):
    with Tool() as t:
        filter_file(t)
        for kind in ("string", "hash", "list"):
            with Fake(accepts(TYPE=lambda a, kind=kind: simple(kind), GET=lambda a: bulk(b"precious"))) as fake:
                t.fails("push", "f.kith", address(fake), "--replace", says=[kind, "does not replace"])
                check("KITH.LOAD" not in fake.names() and "RENAME" not in fake.names())
        with Fake(accepts(TYPE=lambda a: simple("kithbloom"))) as fake:
            t.fails("push", "f.kith", address(fake), says=["exists", "--replace"])
            check("KITH.LOAD" not in fake.names())
            t("push", "f.kith", address(fake), "--replace")
            check("RENAME" in fake.names())


@test
def a_file_is_checked_before_anything_is_sent(s):
    with Tool() as t:
        data = filter_file(t)
        t.write("bad.kith", data[:700] + bytes([data[700] ^ 1]) + data[701:])
        t.write("cut.kith", data[:-1])
        t.write("text.kith", b"hello\n")
        with Fake(accepts()) as fake:
            for name in ("bad.kith", "cut.kith", "text.kith", "none.kith", "list"):
                t.fails("push", name, address(fake), says=name)
            equal(fake.calls, [])


@test
def a_recipe_is_explained(s):
    with Tool() as t:
        filter_file(t, "-i", "--trim")
        with Fake(accepts()) as fake:
            t("push", "f.kith", address(fake))
            for words in ("-i --trim", "convert ASCII letters to lower case", "remove white space", "the application"):
                check(words in t.err, t.err)
        filter_file(t)
        with Fake(accepts()) as fake:
            t("push", "f.kith", address(fake))
            equal(t.err, "")


# ---- passwords ----

def guarded(user, password):
    inside = accepts()

    def reply(args):
        if args[0] == b"AUTH":
            good = args[1:] == ([password] if user is None else [user, password])
            return simple("OK") if good else error("WRONGPASS invalid username-password pair or user is disabled.")
        return inside(args)
    return reply


@test
def passwords_come_from_the_environment_or_a_file(s):
    with Tool() as t:
        filter_file(t)
        t.write("secret", b"open sesame\r\nnot this line\n")
        with Fake(guarded(None, b"open sesame")) as fake:
            t("push", "f.kith", address(fake), environment={"REDISCLI_AUTH": "open sesame"})
            t("push", "f.kith", address(fake), "--password-file", "secret")
            t("push", "f.kith", address(fake), "--password-file", "secret", environment={"REDISCLI_AUTH": "other"})
            t.fails("push", "f.kith", address(fake), environment={"REDISCLI_AUTH": "other"}, says=["AUTH", "WRONGPASS"])
            check("other" not in t.err)
        with Fake(guarded(b"ann", b"open sesame")) as fake:
            t("push", "f.kith", f"redis://ann@127.0.0.1:{fake.port}/k", "--password-file", "secret")
            t.fails("push", "f.kith", f"redis://ann@127.0.0.1:{fake.port}/k", says=["ann", "REDISCLI_AUTH"])
        t.write("empty", b"\n")
        with Fake(accepts()) as fake:
            t.fails("push", "f.kith", address(fake), "--password-file", "empty", says=["empty", "password"])
            t.fails("push", "f.kith", address(fake), "--password-file", "none", says=["none", "no such file"])
            t.fails("push", "f.kith", f"redis://ann:hunter2@127.0.0.1:{fake.port}/k", says=["REDISCLI_AUTH"])
            check("hunter2" not in t.err)
            equal(fake.calls, [])


@test
def the_database_is_selected(s):
    with Tool() as t:
        filter_file(t)
        with Fake(accepts(SELECT=lambda a: simple("OK"))) as fake:
            t("push", "f.kith", address(fake, "7/dir/key"))
            equal(fake.calls[0], [b"SELECT", b"7"])
            check(fake.calls[1] == [b"TYPE", b"dir/key"])
        with Fake(accepts(SELECT=lambda a: error("ERR DB index is out of range"))) as fake:
            t.fails("push", "f.kith", address(fake, "99/key"), says=["SELECT", "out of range"])


# ---- dumps of RedisBloom ----

HEADER = struct.pack("<QIII", 42, 1, 5, 2) + b"\0" * 53


def redisbloom(chunks, name="BF", kind="MBbloom--", end=bulk(b"")):
    """A server with a filter of RedisBloom; chunks are (cursor, data)."""
    def reply(args):
        command = args[0].decode()
        if command == "TYPE":
            return simple(kind)
        if command == name + ".SCANDUMP":
            at = [cursor for cursor, _ in chunks].index(int(args[2])) + 1 if int(args[2]) else 0
            return array(integer(chunks[at][0]), bulk(chunks[at][1])) if at < len(chunks) else array(integer(0), end)
        return error("ERR unknown command")
    return reply


@test
def a_dump_travels_unchanged(s):
    for name, kind, end, header in (("BF", "MBbloom--", bulk(b""), HEADER),
                                    ("CF", "MBbloomCF", bulk(None), struct.pack("<QQQQHHH", 9, 8, 3, 1, 2, 20, 1))):
        chunks = [(1, header), (1000, bytes(range(256)) * 5), (5000, b"")]
        with Tool() as t:
            with Fake(redisbloom(chunks, name, kind, end)) as fake:
                t("pull", address(fake), "-o", "old.dump")
            loaded = []

            def load(args):
                loaded.append((int(args[2]), args[3]))
                return simple("OK")
            with Fake(accepts(**{name + ".LOADCHUNK": load})) as fake:
                t("push", "old.dump", address(fake))
            equal(loaded, chunks)
            text = t("info", "old.dump").decode()
            for words in ("RedisBloom", kind, "kith push", "42" if name == "BF" else "9"):
                check(words in text, text)
            t("verify", "old.dump")
            t.fails("query", "old.dump", "list", says=["dump of a RedisBloom filter"])
            t.fails("build", "-o", "x.kith", "old.dump", says=["dump of a RedisBloom filter"])


@test
def a_dump_of_a_filter_that_changes_is_refused(s):
    count = [42]

    def reply(args):
        if args[0] == b"TYPE":
            return simple("MBbloom--")
        count[0] += 1
        at = int(args[2])
        if at == 0:
            return array(integer(1), bulk(struct.pack("<QIII", count[0], 1, 5, 2) + b"\0" * 53))
        return array(integer(2 if at == 1 else 0), bulk(b"data" if at == 1 else b""))
    refused_pull(reply, ["changed"])


@test
def an_empty_cuckoo_filter_cannot_be_dumped(s):
    refused_pull(redisbloom([], "CF", "MBbloomCF", bulk(None)), ["empty"])


@test
def every_damage_of_a_dump_is_found(s):
    with Tool() as t:
        with Fake(redisbloom([(1, HEADER), (9, b"0123456789")])) as fake:
            t("pull", address(fake), "-o", "d")
        data = t.read("d")
        with Fake(accepts(**{"BF.LOADCHUNK": lambda a: simple("OK")})) as fake:
            for at in list(range(8, 60)) + [len(data) - 1, len(data) - 20]:
                t.write("bad", data[:at] + bytes([data[at] ^ 4]) + data[at + 1:])
                t.fails("push", "bad", address(fake), says="bad")
            for size in (8, 9, 31, 39, 40, 41, 60, len(data) - 1):
                t.write("bad", data[:size])
                t.fails("push", "bad", address(fake), says="bad")
            t.write("bad", data + b"x")
            t.fails("push", "bad", address(fake), says="other bytes")
            equal(fake.calls, [])


@test
def a_server_without_the_commands_of_a_dump_is_named(s):
    with Tool() as t:
        with Fake(redisbloom([(1, HEADER), (9, b"0123456789")])) as fake:
            t("pull", address(fake), "-o", "d")
        with Fake(accepts()) as fake:
            t.fails("push", "d", address(fake), says=["BF.LOADCHUNK", "kith.so", "RedisBloom"])
        with Fake(accepts(**{"BF.LOADCHUNK": lambda a: error("ERR received bad data")})) as fake:
            t.fails("push", "d", address(fake), says=["BF.LOADCHUNK said: ERR received bad data"])


# ---- query ----

@test
def odd_results_of_lookups_are_errors(s):
    for odd in (array(), array(integer(1)), array(integer(2), integer(0)), array(bulk(b"1"), integer(0)), integer(1),
                array(integer(1), integer(0), integer(1)), array(integer(-1), integer(0)), bulk(b"x"),
                array(error("ERR a"), integer(1)), error("ERR the filter is half-loaded")):
        with Tool() as t:
            with Fake(store(b"", **{"KITH.MEXISTS": lambda a, odd=odd: odd})) as fake:
                t.fails("query", address(fake), stdin=b"a\nb\n", says=["KITH.MEXISTS"])


@test
def a_connection_that_was_idle_is_opened_again(s):
    lost = [1]

    def reply(args):
        if args[0] == b"KITH.MEXISTS" and lost[0]:
            lost[0] -= 1
            return DROP
        return store(b"")(args)
    with Tool() as t:
        with Fake(reply) as fake:
            equal(t("query", address(fake), stdin=b"a\n"), b"a\n")
            lost[0] = 2
            t.fails("query", address(fake), stdin=b"a\n", says=["KITH.MEXISTS", "closed the connection"])


@test
def without_a_transaction_nothing_is_renamed(s):
    with Tool() as t:
        filter_file(t)
        with Fake(accepts(MULTI=lambda a: error("NOPERM this user has no permissions to run 'multi'"))) as fake:
            t.fails("push", "f.kith", address(fake), says=["MULTI said: NOPERM"])
            check("RENAMENX" not in fake.names() and "PERSIST" not in fake.names(), fake.names())


@test
def a_key_that_disappears_is_an_error_and_not_a_no(s):
    types = [simple("kithbloom"), simple("kithbloom"), simple("kithbloom"), simple("none")]
    with Tool() as t:
        t.keys("list", 0, 3000)
        with Fake(store(b"", TYPE=lambda a: types.pop(0))) as fake:
            t("query", "-c", address(fake), "list", status=2)
            check("no such key" in t.err)
            equal(types, [])


@test
def damaged_descriptions_of_shards_are_refused(s):
    good = b"kith-shards 1\nset " + b"8f" * 16 + b"\nshards 2\nrecipe 0\nk:{a}:0of2\nk:{b}:1of2\n"
    bad = [good[:n] for n in range(12, len(good))]
    bad += [good + b"x\n", good.replace(b"shards 2", b"shards 0"), good.replace(b"shards 2", b"shards 99999999999999"),
            good.replace(b"kith-shards 1", b"kith-shards 2"), good.replace(b"recipe 0", b"recipe -1"),
            good.replace(b":0of2", b"\0"), good.replace(b"recipe 0", b"recipe 999999999999999")]
    with Tool() as t:
        for text in bad[::3] + bad[-7:]:
            kinds = {b"k": "string"}
            kind = (lambda a: simple(kinds.get(a[1], "kithbloom")))
            with Fake(store(b"", TYPE=kind, GET=lambda a: bulk(text))) as fake:
                t.fails("query", address(fake), stdin=b"a\n", says=["description of the shards"])
        with Fake(store(b"", TYPE=lambda a: simple("string"), GET=lambda a: bulk(b"hello"))) as fake:
            t.fails("query", address(fake), stdin=b"a\n", says=["string", "not a filter"])


# ---- clusters ----

def node(replies, slots):
    def reply(args):
        if args[0] == b"CLUSTER":
            return slots()
        return replies(args)
    return reply


def slots_of(*ports):
    """CLUSTER SLOTS of nodes that share the slots evenly."""
    ranges = []
    for i, port in enumerate(ports):
        first, last = 16384 * i // len(ports), 16384 * (i + 1) // len(ports) - 1
        ranges.append(array(integer(first), integer(last), array(bulk(b"127.0.0.1"), integer(port), bulk(b"id"))))
    return array(*ranges)


@test
def moved_is_followed_and_remembered(s):
    with Tool() as t:
        ports = []
        # Without a host, MOVED means the host of the node that says so.
        moved = node(lambda args: error(f"MOVED 7629 :{ports[1]}"), lambda: slots_of(ports[0]))
        with Fake(moved) as one, Fake(store(b"")) as two:
            ports += [one.port, two.port]
            equal(t("query", address(one, "k", "redis+cluster"), stdin=b"a\nb\n"), b"a\nb\n")
            equal(one.names(), ["CLUSTER", "TYPE"])


@test
def ask_sends_asking_once(s):
    with Tool() as t:
        ports = []
        calls = []

        def first(args):
            if args[0] == b"KITH.MEXISTS":
                return error(f"ASK 7629 127.0.0.1:{ports[1]}")
            return store(b"")(args)

        def second(args):
            calls.append(args[0])
            return simple("OK") if args[0] == b"ASKING" else store(b"")(args)
        with Fake(node(first, lambda: slots_of(ports[0]))) as one, Fake(second) as two:
            ports += [one.port, two.port]
            equal(t("query", address(one, "k", "redis+cluster"), stdin=b"a\nb\n"), b"a\nb\n")
            equal(calls, [b"ASKING", b"KITH.MEXISTS"])


@test
def a_cluster_that_is_not_ready_is_retried_for_a_bounded_time(s):
    for words in ("CLUSTERDOWN The cluster is down", "TRYAGAIN Multiple keys request during rehashing of slot",
                  "LOADING Redis is loading the dataset in memory"):
        with Tool() as t:
            left = [3]
            ports = []

            def reply(args, words=words):
                if args[0] == b"TYPE" and left[0]:
                    left[0] -= 1
                    return error(words)
                return store(b"")(args)
            with Fake(node(reply, lambda: slots_of(ports[0]))) as fake:
                ports.append(fake.port)
                equal(t("query", address(fake, "k", "redis+cluster"), stdin=b"a\n"), b"a\n")
                left[0] = -1
                t.fails("query", address(fake, "k", "redis+cluster"), "--timeout", 1, stdin=b"a\n",
                        says=["gave up after 1 s", words])


@test
def endless_redirections_end(s):
    with Tool() as t:
        ports = []
        with Fake(node(lambda a: error(f"MOVED 1 127.0.0.1:{ports[1]}"), lambda: slots_of(ports[0]))) as one, \
                Fake(node(lambda a: error(f"MOVED 1 127.0.0.1:{ports[0]}"), lambda: slots_of(ports[0]))) as two:
            ports += [one.port, two.port]
            t.fails("query", address(one, "k", "redis+cluster"), "--timeout", 1, stdin=b"a\n",
                    says=["gave up", "MOVED"])


@test
def odd_maps_and_redirections_are_refused(s):
    with Tool() as t:
        for odd in (integer(1), array(integer(1)),
                    array(array(integer(0), integer(99999), array(bulk(b"h"), integer(1)))),
                    array(array(integer(0), integer(5), array(bulk(b"h"), integer(99999)))), error("ERR no"),
                    array(array(integer(0), integer(5), integer(5))), array(array(integer(-1), integer(5), array()))):
            with Fake(node(store(b""), lambda odd=odd: odd)) as fake:
                t.fails("query", address(fake, "k", "redis+cluster"), stdin=b"a\n", says=["CLUSTER SLOTS"])
        for words in ("MOVED", "MOVED 5", "MOVED 5 host", "MOVED 5 host:", "MOVED 5 host:99999", "MOVED 5 host:-1"):
            ports = []
            with Fake(node(lambda a, words=words: error(words), lambda: slots_of(ports[0]))) as fake:
                ports.append(fake.port)
                t.fails("query", address(fake, "k", "redis+cluster"), "--timeout", 1, stdin=b"a\n", says=["MOVED"])
        with Fake(node(store(b""), lambda: error("ERR This instance has cluster support disabled"))) as fake:
            t.fails("query", address(fake, "k", "redis+cluster"), stdin=b"a\n",
                    says=["redis://", "not part of a cluster"])


@test
def a_lost_node_is_asked_again_for_lookups_but_not_for_loads(s):
    with Tool() as t:
        filter_file(t)
        ports, lost = [], [1]

        def query(args):
            if args[0] == b"KITH.MEXISTS" and lost[0]:
                lost[0] -= 1
                return DROP
            return store(b"")(args)
        with Fake(node(query, lambda: slots_of(ports[0]))) as fake:
            ports.append(fake.port)
            equal(t("query", address(fake, "k", "redis+cluster"), stdin=b"a\n"), b"a\n")
        ports.clear()
        push = accepts(**{"KITH.LOAD": lambda a: DROP})
        with Fake(node(push, lambda: slots_of(ports[0]))) as fake:
            ports.append(fake.port)
            t.fails("push", "f.kith", address(fake, "k", "redis+cluster"), says=["KITH.LOAD", "closed the connection"])
            equal(fake.names().count("KITH.LOAD"), 1)


if __name__ == "__main__":
    main()
