#!/usr/bin/python3
"""kith pull and kith query with a server that wants to fill the memory of the tool, or to keep it busy for ever:
replies are bounded before memory is taken, and in time by a deadline for each of them as a whole."""
import itertools
import time

from fake import Fake, array, bulk, integer, simple
from server import check, main, test
from tool import KITH, Tool

MEMORY = 1_000_000
# The promise of --memory (kith help pull): 48 MiB beyond it for the program, its libraries and a chunk.
BEYOND = 48 << 20
SANITIZED = "asan" in KITH or "tsan" in KITH  # a sanitizer needs memory itself


def address(fake, key="k"):
    return f"redis://127.0.0.1:{fake.port}/{key}"


def store(**odd):
    def reply(args):
        name = args[0].decode().upper()
        if name in odd:
            return odd[name](args)
        return {"TYPE": lambda: simple("kithbloom"), "KITH.STATS": lambda: array(bulk(b"recipe"), integer(0))}[name]()
    return reply


def refused(reply, says, *command):
    """The command ends with this error, and within its memory."""
    with Tool() as t, Fake(reply) as fake:
        t.write("list", b"a\n")
        words = [address(fake) if word == "ADDRESS" else word for word in command]
        peak = t.peak(*words, "--memory", MEMORY, "--timeout", 1)
        check(t.status == 2 and t.err.count("\n") == 1, f"status {t.status}: {t.err}")
        check(says in t.err, f"the error does not say {says!r}: {t.err}")
        check(SANITIZED or peak <= MEMORY + BEYOND, f"{peak} bytes of memory")


PULL = ("pull", "ADDRESS", "-o", "x.kith")
QUERY = ("query", "ADDRESS", "list")


def endless(begin, piece):
    yield begin
    yield from itertools.repeat(piece)


@test
def a_reply_is_refused_before_it_is_stored(s):
    blob = b"x" * 65536
    for name, size in (("DUMP", 1_500_000_000), ("DUMP", 2**62), ("TYPE", 10**9)):
        command, before = ("KITH.DUMP", b"*3\r\n:0\r\n:1000\r\n") if name == "DUMP" else (name, b"")
        odd = {command: lambda args: endless(b"%s$%d\r\n" % (before, size), blob)}
        refused(store(**odd), "of memory, the limit for it", *PULL)


@test
def an_array_is_refused_before_it_is_allocated(s):
    for count in (100_000_000, 2**31 - 1, 2**60):
        for reply in (b"*%d\r\n" % count, b"*3\r\n:0\r\n*%d\r\n" % count):
            refused(store(**{"KITH.DUMP": lambda args: endless(reply, b":1\r\n" * 1000)}), "the limit for it", *PULL)
    results = store(**{"KITH.MEXISTS": lambda args: endless(b"*1000000\r\n", b":1\r\n" * 1000)})
    refused(results, "the limit for it", *QUERY)
    # Small arrays within each other: hiredis has a limit for their depth, and the sum of all counts has one.
    refused(store(**{"KITH.DUMP": lambda args: endless(b"", b"*1000\r\n")}), "127.0.0.1", *PULL)


@test
def a_line_without_end_is_refused(s):
    for begin in (b"+", b"-", b":", b"$", b"*"):
        refused(store(**{"TYPE": lambda args: endless(begin, b"1" * 4096)}), "the limit for it", *PULL)


def drip(begin, piece=b"x"):
    """Sends a byte at a time, each well within the timeout of a second."""
    yield begin
    while True:
        time.sleep(0.05)
        yield piece


@test
def a_reply_that_comes_byte_by_byte_ends_at_the_deadline(s):
    within = "the reply is not complete within 1 s (--timeout)"
    for reply in (b"+", b"$900000\r\n", b"*3\r\n:0\r\n:900000\r\n$900000\r\n"):
        refused(store(TYPE=lambda args: drip(reply)) if reply[:1] != b"*" else
                store(**{"KITH.DUMP": lambda args: drip(reply)}), within, *PULL)
    refused(store(**{"KITH.MEXISTS": lambda args: drip(b"*1\r\n:")}), within, *QUERY)


@test
def chunks_of_one_byte_end(s):
    """One byte per chunk of a filter that is announced with nearly all of the memory."""
    def dump(args):
        return array(integer(int(args[2]) + 1), integer(MEMORY), bulk(b"x"))
    refused(store(**{"KITH.DUMP": dump}), "chunks that are too small", *PULL)


@test
def chunks_without_end_end_at_the_memory(s):
    def dump(args):
        return array(integer(int(args[2]) + 1), bulk(b"x" * 9000))
    refused(store(TYPE=lambda args: simple("MBbloom--"), **{"BF.SCANDUMP": dump}), "--memory", *PULL)


@test
def a_filter_within_the_memory_is_pulled(s):
    """Replies of the real size, and a login, pass."""
    with Tool() as t:
        t.keys("list", 0, 200_000)
        t("build", "-k", "bloom", "-p", "0.1%", "-o", "f.kith", "list")
        data = t.read("f.kith")
        check(300_000 < len(data) < MEMORY, f"{len(data)} bytes")
        with Fake(store(**{"KITH.DUMP": lambda args: array(integer(0), integer(len(data)), bulk(data))})) as fake:
            peak = t.peak("pull", address(fake), "-o", "x.kith", "--memory", MEMORY)
            check(t.status == 0 and t.read("x.kith") == data, t.err)
            check(SANITIZED or peak <= MEMORY + BEYOND, f"{peak} bytes of memory")


main()
