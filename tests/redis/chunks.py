#!/usr/bin/python3
"""Filters in pieces: SCANDUMP and LOADCHUNK of BF and CF, KITH.DUMP and KITH.LOAD, and files of the tool `kith`."""
import os
import pathlib
import subprocess
import tempfile

import workload
from resp import OK, Error
from server import WRONGTYPE, check, digest, equal, expect, expect_error, info, main, test

MIB = 1 << 20


def scan(c, prefix, key):
    """All chunks, as (cursor for LOADCHUNK, data)."""
    cursor, chunks = 0, []
    while True:
        reply = c(f"{prefix}.SCANDUMP", key, cursor)
        check(isinstance(reply, list) and len(reply) == 2, f"SCANDUMP returned {reply!r}")
        cursor, data = reply
        if cursor == 0:
            check(data in (b"", None), "the last reply has no data")
            return chunks
        check(0 < cursor < 1 << 53, f"cursor {cursor} is not exact in JavaScript")
        check(len(data) <= 16 * MIB + 4096, f"a chunk has {len(data)} bytes")
        chunks.append((cursor, data))


def load(c, prefix, key, chunks):
    for cursor, data in chunks:
        expect(c, [f"{prefix}.LOADCHUNK", key, cursor, data], OK)


def dump(c, key):
    """The file that KITH.DUMP returns in chunks."""
    cursor, data = 0, b""
    while True:
        following, total, piece = c("KITH.DUMP", key, cursor)
        check(len(piece) <= 16 * MIB)
        data += piece
        if following == 0:
            equal(len(data), total)
            return data
        check(following < 1 << 53)
        cursor = following


def upload(c, key, data, piece_bytes=16 * MIB):
    for start in range(0, len(data), piece_bytes):
        piece = data[start:start + piece_bytes]
        expect(c, ["KITH.LOAD", key, start, len(data), piece], start + len(piece))


def prefix_of(name):
    return "CF" if name.startswith("cf") else "BF"


def half_load(c, prefix, source, key):
    """Loads all chunks of source but the last one."""
    chunks = scan(c, prefix, source)
    check(len(chunks) > 1, "the filter has several chunks")
    load(c, prefix, key, chunks[:-1])
    return chunks


@test
def chunks_of_every_filter_make_an_equal_filter(s):
    for protocol in (2, 3):
        c = s.connect(protocol)
        c("FLUSHALL")
        for name in workload.populate(c, big=protocol == 2):
            chunks = scan(c, prefix_of(name), name)
            check(chunks, f"{name} has no chunks")
            if name.endswith("big"):
                check(len(chunks) > 1, f"{name} has {len(chunks)} chunk")
            load(c, prefix_of(name), name + ":2", chunks)
            if not s.is_redisbloom:
                equal(digest(c, name + ":2"), digest(c, name), name)
                equal(c(prefix_of(name) + ".INFO", name + ":2"), c(prefix_of(name) + ".INFO", name))


@test
def a_copy_of_a_half_loaded_filter_becomes_the_same_filter(s):
    c = s.connect()
    c("BF.RESERVE grown 0.01 100")
    for i in range(20):
        c("BF.MADD", "grown", *[f"item{i}:{j}" for j in range(100)])
    data = dump(c, "grown")
    half = len(data) // 2
    expect(c, ["KITH.LOAD", "h", 0, len(data), data[:half]], half)
    expect(c, "COPY h h2", 1)
    for key in ("h", "h2"):
        expect(c, ["KITH.LOAD", key, half, len(data), data[half:]], len(data))
        equal(c("BF.INFO", key), c("BF.INFO grown"))
        equal(digest(c, key), digest(c, "grown"))


@test
def restoring_a_half_loaded_filter_keeps_to_the_limit(s):
    c = s.connect()
    c("BF.RESERVE big 0.01 1000000")
    data = dump(c, "big")
    expect(c, ["KITH.LOAD", "half", 0, len(data), data[:1000]], 1000)
    payload = c("DUMP half")
    expect(c, ["CONFIG", "SET", "kith.max-filter-bytes", len(data) - 1], OK)
    expect_error(c, ["RESTORE", "again", 0, payload], "Bad data format")
    expect(c, ["CONFIG", "SET", "kith.max-filter-bytes", "480mb"], OK)
    expect(c, ["RESTORE", "again", 0, payload], OK)
    expect(c, ["KITH.LOAD", "again", 1000, len(data), data[1000:]], len(data))
    equal(digest(c, "again"), digest(c, "big"))


@test
def a_filter_that_changed_during_a_dump_is_an_error(s):
    c = s.connect()
    workload.populate(c, big=True)
    for prefix, key, change in (("BF", "bf:big", "BF.ADD bf:big changed"), ("CF", "cf:big", "CF.ADD cf:big changed"),
                                ("CF", "cf:big", "CF.DEL cf:big changed"), ("BF", "bf:one", "BF.MADD bf:one c1 c2 c3"),
                                ("CF", "cf:one", "CF.DEL cf:one item1")):
        cursor, _ = c(f"{prefix}.SCANDUMP", key, 0)
        c(change)
        expect_error(c, [f"{prefix}.SCANDUMP", key, cursor], "changed")
        cursor, _, _ = first = c("KITH.DUMP", key, 0)
        if cursor:
            c(change.replace("changed", "again"))
            expect_error(c, ["KITH.DUMP", key, cursor], "changed")
        chunks = scan(c, prefix, key)  # a new dump works
        load(c, prefix, "copy", chunks)
        equal(digest(c, "copy"), digest(c, key))
        c("DEL copy")


@test
def a_dump_of_a_filter_that_was_replaced_is_an_error(s):
    c = s.connect()
    workload.populate(c, big=True)
    cursor, _ = c("BF.SCANDUMP bf:big 0")
    c("DEL bf:big")
    c("BF.RESERVE bf:big 0.001 10000000 NONSCALING")
    c("BF.MADD", "bf:big", *[f"other{i}" for i in range(600)])
    expect_error(c, ["BF.SCANDUMP", "bf:big", cursor], "changed")


@test
def a_dump_survives_a_save_in_between(s):
    c = s.connect()
    workload.populate(c, big=True)
    cursor, data = c("BF.SCANDUMP bf:big 0")
    chunks = [(cursor, data)]
    expect(c, "SAVE", OK)
    c("BF.EXISTS bf:big item1")
    c("BF.ADD bf:big item1")  # which is there already, so nothing changes
    while True:
        cursor, data = c("BF.SCANDUMP", "bf:big", cursor)
        if not cursor:
            break
        chunks.append((cursor, data))
    load(c, "BF", "copy", chunks)
    equal(digest(c, "copy"), digest(c, "bf:big"))


@test
def cursors_that_no_dump_returned_are_errors_or_the_end(s):
    c = s.connect()
    workload.populate(c)
    for prefix, key, numeric in (("BF", "bf:one", Error("Second argument must be numeric")),
                                 ("CF", "cf:one", Error("Invalid position"))):
        for word in ("x", "", "1.5", str(1 << 63)):
            expect(c, [f"{prefix}.SCANDUMP", key, word], numeric)
        for cursor in (-1, 3, 99999, (1 << 53) - 1, (1 << 63) - 1, -(1 << 63)):
            reply = c(f"{prefix}.SCANDUMP", key, cursor)
            check(isinstance(reply, Error), f"{prefix}.SCANDUMP {cursor} returned {reply!r}")
    for cursor in ("x", -1, 5, (1 << 53) - 1, (1 << 63) - 1):
        check(isinstance(c("KITH.DUMP", "bf:one", cursor), Error), f"KITH.DUMP {cursor}")
    expect(c, "BF.SCANDUMP none 0", Error("ERR not found"))
    expect(c, "CF.SCANDUMP none 0", Error("ERR not found"))


def commands_on(key):
    prefix = prefix_of(key)
    calls = [[f"{prefix}.EXISTS", key, "item1"], [f"{prefix}.MEXISTS", key, "item1", "item2"],
             [f"{prefix}.ADD", key, "item1"], [f"{prefix}.INSERT", key, "ITEMS", "item1"], [f"{prefix}.INFO", key],
             [f"{prefix}.SCANDUMP", key, 0], ["KITH.EXISTS", key, "item1"], ["KITH.MADD", key, "x"],
             ["KITH.DUMP", key, 0]]
    if prefix == "BF":
        return calls + [["BF.MADD", key, "item1"], ["BF.CARD", key], ["BF.RESERVE", key, "0.01", "10"]]
    return calls + [["CF.COUNT", key, "item1"], ["CF.DEL", key, "item1"], ["CF.ADDNX", key, "x"],
                    ["CF.INSERTNX", key, "ITEMS", "x"], ["CF.COMPACT", key], ["CF.RESERVE", key, "100"]]


@test
def a_half_loaded_filter_returns_errors_and_survives_restarts(s):
    server = s.start()
    c = server.connect()
    workload.populate(c, big=True)
    parts = {}
    for prefix, source, key in (("BF", "bf:big", "bf:half"), ("CF", "cf:big", "cf:half")):
        parts[key] = half_load(c, prefix, source, key)
    for step in ("at once", "after DEBUG RELOAD", "after a restart", "after RESTORE"):
        for key in parts:
            for call in commands_on(key):
                got = c(*call)
                check(isinstance(got, Error) and not got.startswith("WRONGTYPE"), f"{step}, {call} returned {got!r}")
        if step == "at once":
            before = digest(c, *parts)
            expect(c, "DEBUG RELOAD", OK)
        elif step == "after DEBUG RELOAD":
            equal(digest(c, *parts), before, step)
            server.restart(save=True)
            c = server.connect()
        elif step == "after a restart":
            equal(digest(c, *parts), before, step)
            for key in parts:
                payload = c("DUMP", key)
                c("DEL", key)
                expect(c, ["RESTORE", key, "0", payload], OK)
    for key, chunks in parts.items():
        load(c, prefix_of(key), key, chunks[-1:])
        equal(digest(c, key), digest(c, key.replace("half", "big")))


@test
def a_half_loaded_filter_survives_an_aof(s):
    for preamble in ("no", "yes"):
        server = s.start("--appendonly", "yes", "--aof-use-rdb-preamble", preamble)
        c = server.connect()
        c("BF.RESERVE bf:big 0.001 10000000 NONSCALING")
        chunks = half_load(c, "BF", "bf:big", "bf:half")
        server.restart()
        c = server.connect()
        expect_error(c, "BF.EXISTS bf:half x", "")
        c("BGREWRITEAOF")
        while info(c, "persistence")["aof_rewrite_in_progress"] != "0" or \
                info(c, "persistence")["aof_rewrite_scheduled"] != "0":
            pass
        server.restart()
        c = server.connect()
        expect_error(c, "BF.EXISTS bf:half x", "")
        load(c, "BF", "bf:half", chunks[-1:])
        equal(digest(c, "bf:half"), digest(c, "bf:big"))


@test
def a_load_may_start_over(s):
    c = s.connect()
    workload.populate(c, big=True)
    chunks = half_load(c, "BF", "bf:big", "copy")
    load(c, "BF", "copy", chunks)
    equal(digest(c, "copy"), digest(c, "bf:big"))
    data = dump(c, "bf:one")
    expect(c, ["KITH.LOAD", "again", 0, len(data), data[:100]], 100)
    upload(c, "again", data, 1000)
    equal(digest(c, "again"), digest(c, "bf:one"))


@test
def chunks_out_of_order_are_errors_and_change_nothing(s):
    c = s.connect()
    workload.populate(c, big=True)
    for prefix, source, key in (("BF", "bf:big", "bf:new"), ("CF", "cf:big", "cf:new")):
        chunks = scan(c, prefix, source)
        for cursor, data in chunks[1:]:
            check(isinstance(c(f"{prefix}.LOADCHUNK", key, cursor, data), Error), "a later chunk without the first")
        expect(c, ["EXISTS", key], 0)
        load(c, prefix, key, chunks[:1])
        before = digest(c, key)
        for cursor, data in chunks[2:] + [(chunks[1][0], chunks[-1][1][:100]), (chunks[1][0], chunks[1][1] + b"x"),
                                          (chunks[1][0] + 1, chunks[1][1]), (0, chunks[1][1]), (-1, chunks[1][1]),
                                          (chunks[1][0], b"")]:
            got = c(f"{prefix}.LOADCHUNK", key, cursor, data)
            check(isinstance(got, Error), f"LOADCHUNK {cursor} with {len(data)} bytes returned {got!r}")
            equal(digest(c, key), before, "the half-loaded filter")
        load(c, prefix, key, chunks[1:])
        equal(digest(c, key), digest(c, source))
        for cursor, data in chunks[1:]:  # once more, onto a filter that is complete
            check(isinstance(c(f"{prefix}.LOADCHUNK", key, cursor, data), Error))
        equal(digest(c, key), digest(c, source))


@test
def truncated_damaged_and_foreign_chunks_are_errors(s):
    c = s.connect()
    workload.populate(c)
    for prefix, source, bad in (("BF", "bf:one", Error("ERR received bad data")),
                                ("CF", "cf:one", Error("Invalid header"))):
        chunks = scan(c, prefix, source)
        cursor, data = chunks[0]
        for wrong in (b"", b"abc", b"KITHDUMP", data[:20], data[:63], b"\0" * len(data), b"\xff" * 64, os.urandom(500)):
            got = c(f"{prefix}.LOADCHUNK", "new", cursor, wrong)
            check(isinstance(got, Error), f"LOADCHUNK of {wrong[:20]!r} returned {got!r}")
        expect(c, [f"{prefix}.LOADCHUNK", "new", 1, b"abc"], bad)
        expect(c, [f"{prefix}.LOADCHUNK", "new", "x", data],
               Error("ERR Second argument must be numeric") if prefix == "BF" else Error("Invalid position"))
        # Chunks of the other command set.
        other = "CF" if prefix == "BF" else "BF"
        check(isinstance(c(f"{other}.LOADCHUNK", "new", cursor, data), Error), "a chunk of the other command set")
        # A byte changed anywhere in a single chunk: an error at once, or when the filter is complete.
        if len(chunks) == 1:
            for at in range(0, len(data), max(1, len(data) // 200)):
                flipped = bytearray(data)
                flipped[at] ^= 1 << (at % 8)
                c("DEL new")
                got = c(f"{prefix}.LOADCHUNK", "new", cursor, bytes(flipped))
                check(isinstance(got, Error), f"byte {at} was changed, and LOADCHUNK returned {got!r}")
                expect(c, "EXISTS new", 0)
        c("SET string v")
        expect(c, [f"{prefix}.LOADCHUNK", "string", cursor, data], WRONGTYPE)
        expect(c, "GET string", b"v")
    expect(c, "EXISTS new", 0)


@test
def dump_and_load_of_whole_files(s):
    c = s.connect()
    names = workload.populate(c, big=True)
    for name in names:
        data = dump(c, name)
        equal(data[:8], b"\x8bKITH\r\n\x1a")
        upload(c, name + ":2", data)
        equal(dump(c, name + ":2"), data, name)
        item = "item1" if not name.endswith("empty") else "nothing"
        equal(c("KITH.EXISTS", name + ":2", item), c("KITH.EXISTS", name, item))


@test
def bad_loads_are_errors_and_change_nothing(s):
    c = s.connect()
    workload.populate(c)
    data = dump(c, "bf:one")
    total = len(data)
    for args in ((1, total, data[1:]), (0, total, data + b"x"), (0, total - 1, data), (0, 0, b""), (0, -1, b"x"),
                 (-1, total, b"x"), (0, 1 << 62, data), (0, (1 << 63) - 1, data), ("x", total, data), (0, "x", data),
                 (0, total, b"x" * total), (0, 100, b"y" * 100), (0, 1 << 40, data)):
        got = c("KITH.LOAD", "new", *args)
        check(isinstance(got, Error), f"KITH.LOAD {args[:2]} with {len(args[2])} bytes returned {got!r}")
        expect(c, "EXISTS new", 0)
    expect(c, ["KITH.LOAD", "new", 0, total, data[:500]], 500)
    for args in ((499, total, data[499:]), (501, total, data[501:]), (500, total + 1, data[500:]),
                 (500, total, data[500:] + b"x"), (500, total, b"\0" * (total - 500))):
        got = c("KITH.LOAD", "new", *args)
        check(isinstance(got, Error), f"KITH.LOAD {args[:2]} with {len(args[2])} bytes returned {got!r}")
        check(isinstance(c("KITH.EXISTS new item1"), Error), "the key is half-loaded")
    expect(c, ["KITH.LOAD", "new", 500, total, data[500:]], total)
    equal(dump(c, "new"), data)
    before = digest(c, "bf:grown")
    check(isinstance(c("KITH.LOAD", "bf:grown", 0, total, data), Error), "the key exists")
    equal(digest(c, "bf:grown"), before)
    c("SET string v")
    expect(c, ["KITH.LOAD", "string", 0, total, data], WRONGTYPE)
    for at in range(0, total, max(1, total // 300)):
        flipped = bytearray(data)
        flipped[at] ^= 0x10
        check(isinstance(c("KITH.LOAD", "damaged", 0, total, bytes(flipped)), Error),
              f"byte {at} of the file is damaged")
    expect(c, "EXISTS damaged", 0)


@test
def the_tool_reads_a_dump_and_the_server_loads_its_files(s):
    tool = os.environ.get("KITH_TOOL")
    check(tool, "KITH_TOOL names the tool")
    c = s.connect()
    workload.populate(c)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "dump.kith"
        for name in ("bf:one", "bf:grown", "bf:fixed", "cf:one", "cf:grown", "cf:b4"):
            file.write_bytes(dump(c, name))
            subprocess.run([tool, "info", file], check=True, capture_output=True)
            lines = "".join(f"{word}\n" for word in ["item300", "nothing1", "item301"])
            found = subprocess.run([tool, "query", file, "-"], input=lines, text=True,
                                   capture_output=True).stdout.split()
            want = [word for word in lines.split() if c("KITH.EXISTS", name, word) == 1]
            equal(found, want, f"kith query of {name}")
        for options in ([], ["--kind", "cuckoo"], ["--kind", "fuse"], ["--grow"], ["--kind", "bloom", "-p", "0.0001"]):
            keys = "".join(f"key{i}\n" for i in range(1000))
            file = pathlib.Path(folder) / "built.kith"
            file.unlink(missing_ok=True)
            subprocess.run([tool, "build", "-o", file, *options, "-"], input=keys, text=True, check=True,
                           capture_output=True)
            data = file.read_bytes()
            c("DEL built")
            upload(c, "built", data, 3000)
            equal(c("KITH.MEXISTS", "built", *keys.split()), [1] * 1000, f"kith build {options}")
            equal(dump(c, "built"), data)


if __name__ == "__main__":
    main()
