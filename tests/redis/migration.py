#!/usr/bin/python3
"""Filters that RedisBloom has written: RDB files, append-only files, dumps and chunks load, reply exactly as they did,
and are saved in RedisBloom's format. fixtures/README.md describes the files."""
import os
import pathlib
import re
import struct
import subprocess
import tempfile

from resp import Error, OK
from server import ROOT, check, digest, equal, expect, find_program, info, main, test, wait_until

FIXTURES = pathlib.Path(__file__).resolve().parent / "fixtures"
NAMES = sorted(path.stem for path in FIXTURES.glob("*.dump"))
STRICT_NAMES = [name for name in NAMES if "loose" not in name]
FOOTER_BYTES = 10  # of a dump: version of the RDB format and checksum


def chunks_of(name):
    data, at, chunks = (FIXTURES / f"{name}.chunks").read_bytes(), 0, []
    while at < len(data):
        cursor, count = struct.unpack_from("<QQ", data, at)
        chunks.append((cursor, data[at + 16:at + 16 + count]))
        at += 16 + count
    return chunks


def argument_of(word, key):
    """A word of KEY.operations."""
    if word == "KEY":
        return key
    return bytes.fromhex(word[4:]) if word.startswith("hex:") else word


def prefix_of(name):
    return name[:2].upper()


def check_replies(c, name, key=None):
    """Every lookup, count and INFO field that the fixture lists."""
    key, prefix = key or name, prefix_of(name)
    fields, found, counted = {}, {"present": [], "false": [], "absent": []}, []
    for line in (FIXTURES / f"{name}.items").read_text().splitlines():
        sort, rest = line.split(" ", 1)
        if sort == "info":
            field, value = rest.split("=")
            fields[field] = None if value == "None" else int(value)
        elif sort == "copies":
            count, item = rest.split(" ", 1)
            counted.append((item, int(count)))
        else:
            found[sort].append(rest)
    for sort, items in found.items():
        if items:
            want = 0 if sort == "absent" else 1
            equal(c(f"{prefix}.MEXISTS", key, *items), [want] * len(items), f"{name}: {sort} items")
            equal(c(f"{prefix}.EXISTS", key, items[0]), want)
    for item, count in counted:
        equal(c("CF.COUNT", key, item), count, f"{name}: copies of {item}")
    got = c(f"{prefix}.INFO", key)
    equal(list(zip(map(str, got[0::2]), got[1::2])), list(fields.items()), f"INFO of {name}")
    check(len(found["present"]) + len(found["absent"]) + len(counted) > 0 and fields, f"{name}.items lists nothing")


def check_type(c, name):
    equal(str(c("TYPE", name)), "MBbloom--" if prefix_of(name) == "BF" else "MBbloomCF")


def check_all(c, names=NAMES):
    equal(sorted(key.decode() for key in c("KEYS *")), names)
    for name in names:
        check_type(c, name)
        check_replies(c, name)


def same_bytes(c, name, key=None):
    equal(c("DUMP", key or name)[:-FOOTER_BYTES], (FIXTURES / f"{name}.dump").read_bytes()[:-FOOTER_BYTES],
          f"DUMP of {name} is what RedisBloom has written")


@test
def there_are_fixtures_of_both_command_sets(s):
    check(len([n for n in NAMES if n.startswith("bf")]) >= 5 and len([n for n in NAMES if n.startswith("cf")]) >= 5)


@test
def dumps_are_restored_and_dumped_as_they_were(s):
    c = s.start("--rdbcompression", "no").connect()
    for name in NAMES:
        expect(c, ["RESTORE", name, "0", (FIXTURES / f"{name}.dump").read_bytes()], OK)
        same_bytes(c, name)
    check_all(c)


@test
def chunks_are_loaded_and_scanned_as_they_were(s):
    c = s.start("--rdbcompression", "no").connect()
    for name in NAMES:
        chunks = chunks_of(name)
        for cursor, data in chunks:
            expect(c, [f"{prefix_of(name)}.LOADCHUNK", name, cursor, data], OK)
        if not chunks:  # an empty cuckoo filter
            continue
        check_type(c, name)
        check_replies(c, name)
        same_bytes(c, name)
        cursor, scanned = 0, []
        while True:
            cursor, data = c(f"{prefix_of(name)}.SCANDUMP", name, cursor)
            if cursor == 0:
                break
            scanned.append((cursor, data))
        equal(scanned, chunks, f"SCANDUMP of {name}")


@test
def an_rdb_file_is_loaded_and_saved_again(s):
    server = s.start("--rdbcompression", "no", files=[("dump.rdb", FIXTURES / "redisbloom.rdb")])
    c = server.connect()
    check_all(c)
    for name in NAMES:
        same_bytes(c, name)
    server.restart(save=True)
    c = server.connect()
    check_all(c)
    for name in NAMES:
        same_bytes(c, name)


def append_only(s, file):
    for preamble in ("no", "yes"):
        server = s.start("--appendonly", "yes", "--aof-use-rdb-preamble", preamble, "--rdbcompression", "no",
                         files=[("appendonly.aof", FIXTURES / file)])
        c = server.connect()
        check_all(c)
        for name in NAMES:
            same_bytes(c, name)
        c("BGREWRITEAOF")
        wait_until(lambda: info(c, "persistence")["aof_rewrite_in_progress"] == "0"
                   and info(c, "persistence")["aof_rewrite_scheduled"] == "0", about="BGREWRITEAOF ends")
        server.restart()
        c = server.connect()
        check_all(c)
        for name in NAMES:
            same_bytes(c, name)


@test
def an_append_only_file_of_commands_makes_the_same_bytes(s):
    append_only(s, "commands.aof")


@test
def a_rewritten_append_only_file_makes_the_same_bytes(s):
    append_only(s, "rewritten.aof")


@test
def limits_of_clients_do_not_hold_for_an_append_only_file(s):
    calls = ("BF.RESERVE capacity 0.2 1073741825 NONSCALING", "BF.ADD capacity x",
             "BF.RESERVE expansion 0.01 10 EXPANSION 32769", "BF.ADD expansion x",
             "BF.INSERT both CAPACITY 1073741825 ERROR 0.2 EXPANSION 4294967295 ITEMS x",
             "CF.RESERVE buckets 1073741825 BUCKETSIZE 4", "CF.ADD buckets x",
             "CF.INSERT few CAPACITY 3 ITEMS a", "CF.INSERT few CAPACITY 3 ITEMS b", "CF.INSERT few ITEMS c")
    words = [call.encode().split() for call in calls]
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"".join(b"*%d\r\n" % len(call) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in call)
                            for call in words))
        file.flush()
        c = s.start("--appendonly", "yes", files=[("appendonly.aof", file.name)]).connect()
    equal(c("BF.INFO capacity CAPACITY"), [1073741825])
    equal(c("BF.INFO capacity EXPANSION"), [None])
    equal(c("BF.INFO expansion EXPANSION"), [32769])
    equal(c("BF.INFO both CAPACITY"), [1073741825])
    equal(c("BF.INFO both EXPANSION"), [4294967295])
    equal([c(f"BF.EXISTS {key} x") for key in ("capacity", "expansion", "both")], [1, 1, 1])
    values = dict(zip(*[iter(c("CF.INFO buckets"))] * 2))
    equal(values["Number of buckets"], 1 << 28)
    expect(c, "CF.EXISTS buckets x", 1)
    values = dict(zip(*[iter(c("CF.INFO few"))] * 2))
    equal([values["Number of buckets"], values["Bucket size"], values["Number of items inserted"]], [1, 2, 3])
    expect(c, "CF.MEXISTS few a b c", [1, 1, 1])
    for call in ("BF.RESERVE new 0.2 1073741825 NONSCALING", "BF.RESERVE new 0.01 10 EXPANSION 32769",
                 "CF.RESERVE new 1073741825 BUCKETSIZE 4", "CF.INSERT new CAPACITY 3 ITEMS a"):
        check(isinstance(c(call), Error), f"a client may not: {call}")


@test
def with_compat_the_same_commands_make_the_same_bytes(s):
    primary = s.start("--rdbcompression", "no", module_args=["compat", "redisbloom"])
    replica = s.start("--rdbcompression", "no", "--replicaof", f"127.0.0.1 {primary.port}")
    r = replica.connect()
    wait_until(lambda: info(r, "replication").get("master_link_status") == "up", about="the replica is in sync")
    c = primary.connect()
    for name in STRICT_NAMES:
        for line in (FIXTURES / f"{name}.operations").read_text().splitlines():
            c(*[argument_of(word, name) for word in line.split(" ")])
        same_bytes(c, name)
    check_all(c, STRICT_NAMES)
    wait_until(lambda: len(r("KEYS *")) == len(STRICT_NAMES) and r("DEBUG DIGEST") == c("DEBUG DIGEST"),
               about="the replica is equal")
    for name in STRICT_NAMES:
        same_bytes(r, name)


@test
def migrated_filters_can_be_used_further(s):
    primary = s.start(files=[("dump.rdb", FIXTURES / "redisbloom.rdb")])
    replica = s.start("--replicaof", f"127.0.0.1 {primary.port}")
    c, r = primary.connect(), replica.connect()
    wait_until(lambda: info(r, "replication").get("master_link_status") == "up", about="the replica is in sync")
    for name in NAMES:
        items = [f"further{i}" for i in range(500)]
        replies = c(f"{prefix_of(name)}.INSERT", name, "ITEMS", *items)
        equal(len(replies), len(items))
        kept = [item for item, reply in zip(items, replies) if reply in (0, 1) and not isinstance(reply, Error)]
        equal(c(f"{prefix_of(name)}.MEXISTS", name, *kept), [1] * len(kept))
        if prefix_of(name) == "CF":
            for item in kept[:50]:
                equal(c("CF.DEL", name, item), 1)
        expect(c, ["COPY", name, name + ":2"], 1)
        equal(digest(c, name + ":2"), digest(c, name))
        check(c("MEMORY", "USAGE", name) > 0)
    wait_until(lambda: r("DEBUG DIGEST") == c("DEBUG DIGEST"), about="the replica is equal")


@test
def loading_an_rdb_file_makes_no_second_copy(s):
    server = s.start("--rdbcompression", "no", module_args=["compat", "redisbloom"])
    c = server.connect()
    expect(c, "BF.RESERVE b 0.01 40000000", OK)
    expect(c, "CF.RESERVE c 60000000", OK)
    equal([c("BF.ADD b x"), c("CF.ADD c x")], [1, 1])
    server.restart(save=True)
    c = server.connect()
    equal([c("BF.EXISTS b x"), c("CF.EXISTS c x")], [1, 1])
    used = int(info(c, "memory")["used_memory"])
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    peak = 1024 * int(status.split("VmHWM:")[1].split()[0])
    check(used > 110 << 20 and peak < used + (32 << 20), f"{used} bytes are used, but {peak} were in memory")


@test
def truncated_chunks_of_redisbloom_are_errors(s):
    c = s.connect()
    for name in NAMES:
        chunks = chunks_of(name)
        if len(chunks) < 2:
            continue
        prefix = prefix_of(name)
        (first, header), (second, data) = chunks[0], chunks[1]
        for wrong in (header[:-1], header + b"x", header[:10], b"\xff" * len(header), bytes(len(header))):
            check(isinstance(c(f"{prefix}.LOADCHUNK", name, first, wrong), Error), f"{name}: header {wrong[:20]!r}")
            expect(c, ["EXISTS", name], 0)
        expect(c, [f"{prefix}.LOADCHUNK", name, first, header], OK)
        for wrong in (data + b"x" * 100000, b""):
            check(isinstance(c(f"{prefix}.LOADCHUNK", name, second, wrong), Error), f"{name}: {len(wrong)} bytes")
        check(isinstance(c(f"{prefix}.LOADCHUNK", name, 1 << 50, data), Error), f"{name}: a cursor past the end")
        c("DEL", name)


# ---- the other types of RedisBloom ----

OTHER_TYPES = ["TopK-TYPE", "CMSk-TYPE", "TDIS-TYPE"]


def documented_commands():
    """The commands that find such keys: on a server, and in an RDB file."""
    section = (ROOT / "docs/redis.md").read_text().split("\n### Before everything else")[1].split("\n### ")[0]
    blocks = re.findall(r"```sh\n(.*?)```", section, re.S)
    equal(len(blocks), 2)
    return blocks


def shell(text, folder):
    done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, timeout=60, cwd=folder)
    equal(done.stderr, "")
    return done.stdout.splitlines()


@test
def the_documented_commands_find_the_other_types_of_redisbloom(s):
    on_server, in_file = documented_commands()
    with_types = s.start("--loadmodule", os.environ["KITH_TYPES"])
    on_server = on_server.replace("redis-cli", f"{find_program(s.kind, 'cli')} -p {with_types.port}")
    c = with_types.connect()
    for i in range(3000):
        c("BF.ADD", f"filter{i}", "x") if i % 10 == 0 else c("SET", f"string{i}", "x" * (i % 50))
    c("CF.ADD", "cuckoo", "x")
    expect(c, "SAVE", OK)
    equal(shell(on_server, with_types.folder), [])
    equal(shell(in_file, with_types.folder), ["0"])
    found = []
    for i in range(3000):
        expect(c, ["MAKE.KEY", f"other:{i}", OTHER_TYPES[i % 3]], OK)
        found.append(f"{OTHER_TYPES[i % 3]} other:{i}")
    equal(sorted(shell(on_server, with_types.folder)), sorted(found))
    expect(c, "SAVE", OK)
    listed = shell(in_file, with_types.folder)
    check(int(listed[0]) > 0)
    equal(sorted(listed[1:]), sorted(line.split()[1] for line in found))
    # An error is not the same as no key.
    stopped = on_server.replace(f"-p {with_types.port}", "-p 1 2>&1")
    equal(len(shell(stopped, with_types.folder)), 3)
    # A server with only kith.so cannot load this file: that is why they must be found.
    alone = s.start("--dbfilename", "copy.rdb", files=[("copy.rdb", with_types.folder / "dump.rdb")], wait=False)
    alone.expect_exit = True
    alone.process.wait(60)
    check("no matching module type" in alone.log(), alone.end_of_log())


@test
def kith_works_beside_a_module_with_the_names_of_redisbloom(s):
    """RedisBloom itself is not in Debian; its types and a command of it stand in for it."""
    server = s.start("--loadmodule", os.environ["KITH_TYPES"], "all", "--loadmodule", os.environ["KITH_TAKEN"],
                     "BF.ADD", module_args=["bf", "no"])
    c = server.connect()
    for name in OTHER_TYPES + ["MBbloom--", "MBbloomCF"]:
        expect(c, ["MAKE.KEY", name, name], OK)
    expect(c, "KITH.RESERVE k auto 0.01 1000", OK)
    expect(c, "KITH.ADD k x", 1)
    expect(c, "SAVE", OK)
    server.stop()
    server.options += ["--dbfilename", "dump.rdb"]
    c = server.start().connect()
    equal(c("DBSIZE"), 6)
    expect(c, "KITH.EXISTS k x", 1)
    for name in OTHER_TYPES + ["MBbloom--", "MBbloomCF"]:
        equal(str(c("TYPE", name)), name)


if __name__ == "__main__":
    main()
