#!/usr/bin/python3
"""Filters whose keys are numbers or UUIDs: the server reads them as text, and they are the keys of the tool."""
import struct

from resp import Error, OK
from server import check, equal, expect, expect_error, info, main, test, wait_until
from tool import Tool

UUID = "123e4567-e89b-12d3-a456-426614174000"
# For each type: keys, other texts of these keys, keys that are absent, and texts that are no keys.
TYPES = {
    "int": (["0", "-1", "42", str(2**63 - 1), str(-2**63)], [], ["1", "-42"],
            ["", "-0", "+1", "042", " 42", "42 ", "4.2", "x", str(2**63), str(-2**63 - 1)]),
    "uint": (["0", "42", str(2**64 - 1)], [], ["1", str(2**63)], ["", "-1", "00", "1e3", str(2**64)]),
    "uuid": ([UUID], [UUID.upper()], [UUID[:-1] + "1"], ["", "42", UUID[1:], UUID.replace("-", ""), f"{{{UUID}}}"]),
}


def bytes_of(kind, text):
    """The key in the set."""
    if kind == "uuid":
        return bytes.fromhex(text.replace("-", ""))
    return struct.pack("<q" if kind == "int" else "<Q", int(text))


def address(s, key):
    return f"redis://127.0.0.1:{s.server.port}/{key}"


@test
def every_command_reads_the_text_of_a_key(s):
    c = s.connect()
    for kind, (keys, others, absent, bad) in TYPES.items():
        c("FLUSHALL")
        expect(c, f"KITH.RESERVE k cuckoo 0.000001 1000 KEYS {kind}", OK)
        for key in keys:
            expect(c, ["KITH.ADD", "k", key], 1)
        expect(c, ["KITH.MEXISTS", "k", *keys, *others, *absent], [1] * len(keys + others) + [0] * len(absent))
        for key in keys + others:
            expect(c, ["CF.EXISTS", "k", key], 1)
        expect(c, ["CF.ADDNX", "k", keys[0]], 0)
        expect(c, ["CF.ADD", "k", keys[0]], 1)
        expect(c, ["KITH.COUNT", "k", keys[0]], 2)
        expect(c, ["KITH.DEL", "k", keys[0]], 1)
        expect(c, ["CF.DEL", "k", absent[0]], 0)
        before = c("KITH.STATS k")
        for text in bad:
            for command in ("KITH.ADD", "KITH.EXISTS", "KITH.COUNT", "KITH.DEL", "CF.ADD", "CF.ADDNX", "CF.EXISTS",
                            "CF.COUNT", "CF.DEL"):
                expect_error(c, [command, "k", text], "ERR ")
            got = c("KITH.MEXISTS", "k", keys[0], text, absent[0])
            check(isinstance(got[1], Error) and got[0] == 1 and got[2] == 0, repr(got))
            got = c("KITH.MADD", "k", text)
            check(isinstance(got[0], Error), repr(got))
        equal(c("KITH.STATS k"), before, "bad items change nothing")
        equal(before[before.index("keys") + 1], kind.encode())
        expect(c, f"KITH.RESERVE b bloom 0.000001 1000 keys {kind.upper()}", OK)
        expect(c, ["BF.MADD", "b", *keys], [1] * len(keys))
        expect(c, ["BF.MEXISTS", "b", *keys, *absent], [1] * len(keys) + [0] * len(absent))
        expect_error(c, ["BF.ADD", "b", bad[0]], "ERR not a key of this type")


@test
def other_types_are_refused(s):
    c = s.connect()
    for words in ("KEYS", "KEYS float", "KEYS 1", "KEYS int8"):
        expect_error(c, f"KITH.RESERVE k cuckoo 0.01 1000 {words}", "ERR ")
    expect(c, "EXISTS k", 0)
    expect(c, "KITH.RESERVE k bloom 0.01 1000 KEYS bytes", OK)
    expect(c, "KITH.ADD k x", 1)
    c("KITH.RESERVE i bloom 0.01 1000 TRUSTED KEYS int")
    c("KITH.RESERVE u bloom 0.01 1000 TRUSTED KEYS uint")
    expect_error(c, "KITH.MERGE m i u", "ERR ")


@test
def a_filter_like_another_and_a_copy_have_its_key_type(s):
    c = s.connect()
    c("KITH.RESERVE k cuckoo 0.000001 1000 KEYS int")
    expect(c, "KITH.RESERVE l LIKE k", OK)
    c("KITH.ADD k 7")
    c("COPY k copy")
    for key in ("l", "copy"):
        expect(c, ["KITH.EXISTS", key, "7"], int(key == "copy"))
        expect_error(c, ["KITH.ADD", key, "seven"], "ERR not a key of this type")


@test
def replicas_and_a_restart_keep_the_key_type(s):
    primary = s.start("--appendonly", "yes")
    replica = s.start("--replicaof", f"127.0.0.1 {primary.port}")
    c, r = primary.connect(), replica.connect()
    wait_until(lambda: info(r, "replication").get("master_link_status") == "up", about="the replica is in sync")
    c("KITH.RESERVE k cuckoo 0.000001 1000 KEYS uint")
    c("KITH.MADD k 1 18446744073709551615 x")
    equal(c("WAIT", "1", "60000"), 1)
    expect(r, "KITH.MEXISTS k 1 18446744073709551615 2", [1, 1, 0])
    expect_error(r, "KITH.EXISTS k x", "ERR not a key of this type")
    for _ in range(2):  # from the log of commands, and from a rewritten one
        primary.restart()
        c = primary.connect()
        expect(c, "KITH.MEXISTS k 1 18446744073709551615 2", [1, 1, 0])
        expect_error(c, "KITH.EXISTS k x", "ERR not a key of this type")
        c("BGREWRITEAOF")
        wait_until(lambda: info(c, "persistence")["aof_rewrite_in_progress"] == "0"
                   and info(c, "persistence")["aof_rewrite_scheduled"] == "0", about="BGREWRITEAOF ends")


@test
def the_keys_are_those_of_the_tool(s):
    c = s.connect()
    with Tool() as t:
        for kind, (keys, others, absent, bad) in TYPES.items():
            c("FLUSHALL")
            lines = t.write("lines", "".join(f"{key}\n" for key in keys).encode())
            asked = t.write("asked", "".join(f"{key}\n" for key in keys + others + absent).encode())
            found = "".join(f"{key}\n" for key in keys + others).encode()
            t("build", "-o", "f.kith", f"--{kind}", "-k", "cuckoo", "-p", "1e-6", lines)
            t("push", "f.kith", address(s, "k"))
            equal(t.err, "")
            expect(c, ["KITH.MEXISTS", "k", *keys, *absent], [1] * len(keys) + [0] * len(absent))
            equal(t("query", address(s, "k"), asked), found)
            t.fails("query", address(s, "k"), t.write("bad", bad[1].encode() + b"\n"), says=["bad:1"])
            # A filter that the server made.
            c(f"KITH.RESERVE made cuckoo 0.000001 1000 KEYS {kind}")
            c("KITH.MADD", "made", *keys)
            t("pull", address(s, "made"), "-o", "made.kith")
            equal(t("query", "made.kith", asked), found)
            # The bytes of the keys, as binary records.
            t.write("records", b"".join(bytes_of(kind, key) for key in keys))
            size = len(bytes_of(kind, keys[0]))
            equal(t("query", "-c", "--fixed", size, "made.kith", "records"), f"{len(keys)}\n".encode())
            equal(t("query", "-c", "--fixed", size, address(s, "made"), "records"), f"{len(keys)}\n".encode())


@test
def a_set_in_shards_has_a_key_type(s):
    with Tool() as t:
        t.write("lines", b"".join(b"%d\n" % n for n in range(-500, 500)))
        t.write("asked", b"".join(b"%d\n" % n for n in range(-1000, 1000)))
        t("push", "--shards", "3", "--int", "-p", "1e-6", "lines", address(s, "set"))
        equal(t.err, "")
        equal(t("query", address(s, "set"), "asked"), t.read("lines"))
        t.fails("query", address(s, "set"), "--key", "x", says="not a number")


main()
