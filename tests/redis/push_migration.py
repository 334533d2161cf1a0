#!/usr/bin/python3
"""Filters of RedisBloom travel with kith pull and kith push. The files in tests/redis/fixtures were written by
RedisBloom: its chunks must arrive as they were, and the filters must give the same results as before."""
import struct

from fake import Fake, array, bulk, error, integer, simple
from server import OK, ROOT, check, equal, main, test
from tool import Tool

FIXTURES = ROOT / "tests/redis/fixtures"
NAMES = sorted(path.stem for path in FIXTURES.glob("*.chunks"))
HEADER_BYTES, CHECKSUM_BYTES = 32, 8  # of a dump file


def chunks_of(name):
    """(cursor, data) of each reply of SCANDUMP."""
    data, at, chunks = (FIXTURES / f"{name}.chunks").read_bytes(), 0, []
    while at < len(data):
        cursor, size = struct.unpack_from("<QQ", data, at)
        chunks.append((cursor, data[at + 16:at + 16 + size]))
        at += 16 + size
    return chunks


def items_of(name):
    """What RedisBloom replied: lists of items that exist and that do not, and the pairs of INFO."""
    exist, missing, info = [], [], {}
    for line in (FIXTURES / f"{name}.items").read_text().splitlines():
        word, rest = line.split(" ", 1)
        if word == "info":
            field, value = rest.split("=", 1)
            info[field] = value
        elif word != "copies":
            (missing if word == "absent" else exist).append(rest)
    return exist, missing, info


def address(port, key):
    return f"redis://127.0.0.1:{port}/{key}"


def redisbloom(name):
    """A server that replies as RedisBloom did."""
    chunks, prefix = chunks_of(name), "BF" if name.startswith("bf") else "CF"

    def reply(args):
        if args[0] == b"TYPE":
            return simple("MBbloom--" if prefix == "BF" else "MBbloomCF")
        if args[0].decode() != prefix + ".SCANDUMP":
            return error("ERR unknown command")
        cursors = [cursor for cursor, _ in chunks]
        at = cursors.index(int(args[2])) + 1 if int(args[2]) else 0
        if at < len(chunks):
            return array(integer(chunks[at][0]), bulk(chunks[at][1]))
        return array(integer(0), bulk(b"" if prefix == "BF" else None))
    return reply


def check_results(t, port, key, name):
    exist, missing, _ = items_of(name)
    t.write("items", "".join(f"{item}\n" for item in exist + missing).encode())
    equal(t("query", address(port, key), "items", status=None), "".join(f"{item}\n" for item in exist).encode(), name)


@test
def filters_of_redisbloom_give_the_same_results_on_kith(s):
    with Tool() as t:
        c = s.connect()
        for name in NAMES:
            with Fake(redisbloom(name)) as fake:
                if not chunks_of(name):
                    t.fails("pull", address(fake.port, name), "-o", "f.dump", says="empty")
                    continue
                t("pull", address(fake.port, name), "-o", "f.dump")
            equal(t.read("f.dump")[HEADER_BYTES:-CHECKSUM_BYTES], (FIXTURES / f"{name}.chunks").read_bytes(), name)
            t("push", "f.dump", address(s.server.port, name))
            check_results(t, s.server.port, name, name)
            prefix = "BF" if name.startswith("bf") else "CF"
            reply = c(f"{prefix}.INFO", name)
            got = {str(k): str(v) for k, v in zip(reply[::2], reply[1::2])}
            equal(got, items_of(name)[2], name)
            equal(c("TTL", name), -1)
            # what kith info says about the dump
            facts = t("info", "f.dump").decode()
            check(prefix == "BF" and "MBbloom--" in facts or prefix == "CF" and "MBbloomCF" in facts, facts)
            count = int(items_of(name)[2]["Number of items inserted"])
            check(f"items            {count:,}\n" in facts, facts)


@test
def the_way_back_has_the_bytes_of_redisbloom(s):
    server = s.start("--rdbcompression", "no")
    with Tool() as t:
        c = server.connect()
        for name in NAMES:
            equal(c("RESTORE", name, 0, (FIXTURES / f"{name}.dump").read_bytes()), OK, name)
            if not chunks_of(name):
                continue
            t("pull", address(server.port, name), "-o", "f.dump")
            equal(t.read("f.dump")[HEADER_BYTES:-CHECKSUM_BYTES], (FIXTURES / f"{name}.chunks").read_bytes(), name)
            t("push", "--replace", "f.dump", address(server.port, name))
            check_results(t, server.port, name, name)
            equal(c("DUMP", name)[:-10], (FIXTURES / f"{name}.dump").read_bytes()[:-10], name)


@test
def a_filter_of_several_chunks_arrives(s):
    old, new = s.start(module_args=["compat", "redisbloom"]), s.server
    with Tool() as t:
        c = old.connect()
        c("BF.RESERVE", "big", 0.001, 20_000_000)
        c("CF.RESERVE", "cuckoo", 20_000_000)
        for key, add in (("big", "BF.MADD"), ("cuckoo", "CF.INSERT")):
            items = [f"key{i}" for i in range(5000)]
            c(add, key, *(["ITEMS"] if add == "CF.INSERT" else []), *items)
            t("pull", address(old.port, key), "-o", "f.dump")
            check(len(t.read("f.dump")) > 16 << 20)
            t("push", "f.dump", address(new.port, key))
            t.keys("list", 0, 5000)
            t.keys("others", 5000, 15000)
            equal(t("query", "-c", address(new.port, key), "list"), b"5000\n")
            equal(t("query", "-v", address(new.port, key), "others", status=None),
                  t("query", "-v", address(old.port, key), "others", status=None))


if __name__ == "__main__":
    main()
