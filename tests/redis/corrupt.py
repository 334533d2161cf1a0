#!/usr/bin/python3
"""Damaged dumps: RESTORE of a payload with 1 to 8 changed bytes is an error reply or makes a key that commands can use.

In half of the cycles the checksums of the block are made right again, as an attacker would, so that the checks behind
them run. The checksum of the dump is not verified (DEBUG SET-SKIP-CHECKSUM-VALIDATION), and strings are not compressed,
so that the changed bytes reach the module. The server may not exit, and runs with bounded memory.
"""
import os
import struct
import subprocess

import workload
from resp import Error, Lost, OK
from server import check, digest, equal, expect, main, test


def number_at(data, at):
    """Reads a length of the RDB format. Returns it and the position after it, or None if there is none."""
    first = data[at]
    if first >> 6 == 0:
        return first & 63, at + 1
    if first >> 6 == 1:
        return (first & 63) << 8 | data[at + 1], at + 2
    if first in (0x80, 0x81):
        size = 4 if first == 0x80 else 8
        return int.from_bytes(data[at + 1:at + 1 + size], "big"), at + 1 + size
    return None  # an encoded string


def strings_of(payload):
    """Positions of the strings that the module saved, (start, end), as far as the payload can be read."""
    spans = []
    try:
        at = number_at(payload, 1)[1]  # after the type of value, the id of the module
        while payload[at] != 0:
            opcode, at = payload[at], at + 1
            if opcode in (1, 2):
                at = number_at(payload, at)[1]
            elif opcode in (3, 4):
                at += 4 * (opcode - 2)
            elif opcode == 5:
                count, at = number_at(payload, at)
                if at + count > len(payload):
                    break
                spans.append((at, at + count))
                at += count
            else:
                break
    except (IndexError, TypeError):
        pass
    return spans


class Sealer:
    """Makes the checksums of the blocks in a payload right. A block may be spread over several strings."""

    def __init__(self):
        self.process = subprocess.Popen([os.environ["KITH_RESEAL"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, payload):
        spans = strings_of(payload)
        joined = b"".join(payload[start:end] for start, end in spans)
        self.process.stdin.write(struct.pack("<I", len(joined)) + joined)
        self.process.stdin.flush()
        (count,) = struct.unpack("<I", self.process.stdout.read(4))
        sealed, result, used = self.process.stdout.read(count), bytearray(payload), 0
        for start, end in spans:
            result[start:end] = sealed[used:used + end - start]
            used += end - start
        return bytes(result)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        check(self.process.wait() == 0, "reseal failed")


def damage(rng, payload):
    """Changes 1 to 8 bytes before the footer of 10 bytes, half of the time near the front, where the numbers are."""
    data = bytearray(payload)
    last = len(data) - 10
    if rng.randrange(4) == 0:  # exchanging bytes keeps the number of set bits, which the filters verify
        for _ in range(rng.randrange(1, 5)):
            a, b = rng.randrange(1, last), rng.randrange(1, last)
            data[a], data[b] = data[b], data[a]
        return bytes(data)
    span = last if rng.randrange(2) else min(last, 300)
    for _ in range(rng.randrange(1, 9)):
        at = rng.randrange(1, span)
        if rng.randrange(2):
            data[at] ^= 1 << rng.randrange(8)
        else:
            data[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    return bytes(data)


def start(s):
    # The address sanitizer reserves more address space than any limit.
    server = s.start("--rdbcompression", "no", "--sanitize-dump-payload", "no", "--proto-max-bulk-len", "512mb",
                     memory_bytes=None if s.sanitized else 6 << 30)
    c = server.connect()
    expect(c, "DEBUG SET-SKIP-CHECKSUM-VALIDATION 1", OK)
    return server, c


def cycles(s):
    return 100000 if s.soak else 200 if s.sanitized else 1000


def loop(s, c, server, payloads, commands, module_type):
    rng, seal = s.random, Sealer()
    restored = 0
    try:
        for number in range(cycles(s)):
            data = damage(rng, rng.choice(payloads))
            if number % 2:
                data = seal(data)
            c.send("RESTORE", "k", "0", data, "REPLACE")
            calls = [commands(rng, "k") for _ in range(6)]
            calls += [["DUMP", "k"], ["COPY", "k", "k2", "REPLACE"], ["DEBUG", "DIGEST-VALUE", "k"],
                      ["MEMORY", "USAGE", "k"]]
            for call in calls:
                c.send(*call)
            c.send("DEL", "k", "k2")
            try:
                reply = c.read()
                restored += not isinstance(reply, Error)
                for _ in calls:
                    c.read()
                c.read()
            except Lost as e:
                path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"kith-corrupt-{module_type}.bin")
                with open(path, "wb") as file:
                    file.write(data)
                raise AssertionError(f"cycle {number}: {e}; the payload is in {path}") from e
    finally:
        if server.alive():
            seal.close()
    check(server.alive(), "the server exited")
    print(f"       {cycles(s)} damaged dumps of {module_type}, {restored} of them were accepted")
    return restored


def half_loaded(c, source):
    """Loads a part of a filter into another key, and returns its name."""
    _, total, data = c("KITH.DUMP", source, 0)
    expect(c, ["KITH.LOAD", source + ":half", 0, total, data[:total // 2]], total // 2)
    return source + ":half"


def dumps(c, names):
    payloads = [c("DUMP", name) for name in names]
    check(all(isinstance(p, bytes) for p in payloads))
    return payloads


@test
def resealing_a_dump_that_is_whole_changes_nothing(s):
    server, c = start(s)
    seal = Sealer()
    for payload in dumps(c, workload.populate(c)):
        equal(seal(payload), payload, "the blocks in a dump are found, and sealed as the library does it")
        at, _ = strings_of(payload)[0]
        equal(payload[at:at + 8], b"\x8bKITH\r\n\x1a")
        wrong = bytearray(payload)
        wrong[at + 184] ^= 1  # in the checksum of the header
        equal(seal(bytes(wrong)), payload, "a wrong checksum is made right")
    seal.close()


@test
def damaged_dumps_of_bloom_filters(s):
    server, c = start(s)
    names = [name for name in workload.populate(c) if name.startswith("bf")] + [half_loaded(c, "bf:grown")]
    both = lambda rng, key: rng.choice([workload.bf_command, workload.kith_command])(rng, key)
    accepted = loop(s, c, server, dumps(c, names), both, "kithbloom")
    check(accepted > 0, "no damaged dump was accepted, so no command ran on one")


@test
def damaged_dumps_of_cuckoo_filters(s):
    server, c = start(s)
    names = [name for name in workload.populate(c) if name.startswith("cf")] + [half_loaded(c, "cf:grown")]
    both = lambda rng, key: rng.choice([workload.cf_command, workload.kith_command])(rng, key)
    accepted = loop(s, c, server, dumps(c, names), both, "kithcucko")
    check(accepted > 0, "no damaged dump was accepted, so no command ran on one")


@test
def damaged_dumps_in_the_layouts_of_redisbloom(s):
    server, c = start(s)
    expect(c, "CONFIG SET kith.compat redisbloom", OK)
    names = workload.populate(c)
    for prefix, command, module_type in (("bf", workload.bf_command, "MBbloom--"),
                                         ("cf", workload.cf_command, "MBbloomCF")):
        loop(s, c, server, dumps(c, [n for n in names if n.startswith(prefix)]), command, module_type)


# ---- numbers that no filter can have ----

HUGE = [(1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]


def numbers_of(payload):
    """The integers and doubles that the module saved, in order: (start, end) of each with its opcode."""
    spans, at = [], number_at(payload, 1)[1]
    while payload[at] != 0:
        opcode, start = payload[at], at
        if opcode == 4:
            at += 9
        elif opcode in (2, 5):
            value, at = number_at(payload, at + 1)
        else:
            raise ValueError(f"opcode {opcode}")
        if opcode == 5:
            at += value
        else:
            spans.append((start, at))
    return spans


def with_number(payload, index, value):
    """The payload with another number in place of the one at this index; a float is saved as a double."""
    start, end = numbers_of(payload)[index]
    coded = b"\x04" + struct.pack("<d", value) if isinstance(value, float) else b"\x02\x81" + struct.pack(">Q", value)
    return payload[:start] + coded + payload[end:]


def number(payload, index):
    start, _ = numbers_of(payload)[index]
    return number_at(payload, start + 1)[0]


def check_numbers(c, name, fields, impossible):
    """Each of the impossible values of each field is refused by RESTORE, and the value that is there is not."""
    payload, accepted = c("DUMP", name), []
    for field, values in impossible.items():
        index = fields.index(field)
        there = number(payload, index) if payload[numbers_of(payload)[index][0]] == 2 else None
        for value in values:
            if value == there:
                continue
            reply = c("RESTORE", "other", 0, with_number(payload, index, value), "REPLACE")
            if not isinstance(reply, Error):
                accepted.append((name, field, value))
    equal(accepted, [], "numbers that RESTORE accepts")
    for index in range(len(fields)):
        if payload[numbers_of(payload)[index][0]] == 2:
            expect(c, ["RESTORE", "other", 0, with_number(payload, index, number(payload, index)), "REPLACE"], OK)
    equal(digest(c, "other"), digest(c, name))


FIELDS = ["form", "expansion", "bucket_size", "max_iterations", "deleted", "layers", "chunks", "total", "received"]


@test
def numbers_that_no_filter_can_have_are_refused(s):
    _, c = start(s)
    expect(c, "BF.RESERVE bf:one 0.01 1000 NONSCALING", OK)
    expect(c, "BF.RESERVE bf:grown 0.01 10 EXPANSION 3", OK)
    expect(c, "CF.RESERVE cf:one 1000 EXPANSION 0", OK)
    expect(c, "CF.RESERVE cf:grown 10 BUCKETSIZE 4 MAXITERATIONS 7 EXPANSION 3", OK)
    for i in range(200):
        c("BF.ADD", "bf:grown", i)
        c("CF.ADD", "cf:grown", i)
    c("CF.DEL cf:grown 7")
    for name, removes, grows in (("bf:one", False, False), ("bf:grown", False, True), ("cf:one", True, False),
                                 ("cf:grown", True, True)):
        impossible = {"form": [2, *HUGE], "layers": ([65, *HUGE] if grows else [2, 3, 64, 65, *HUGE]),
                      "expansion": [1, 2, 4, 32769, *HUGE] + ([0] if grows else []),
                      "bucket_size": [256, *HUGE] + ([] if removes else [1, 2, 255]),
                      "max_iterations": [65536, *HUGE] + ([] if removes else [1, 65535]),
                      "deleted": [1 << 63, (1 << 64) - 1] + ([] if removes else [1, (1 << 63) - 1]),
                      "chunks": [1, 2, 65536, *HUGE], "total": [0, *HUGE], "received": [0, *HUGE]}
        check_numbers(c, name, FIELDS, impossible)


@test
def numbers_that_no_half_loaded_filter_can_have_are_refused(s):
    _, c = start(s)
    c("CF.RESERVE whole 1000000 EXPANSION 2 BUCKETSIZE 4")
    half = half_loaded(c, "whole")
    impossible = {"expansion": [32769, *HUGE], "bucket_size": [256, *HUGE], "max_iterations": [65536, *HUGE],
                  "deleted": [1 << 63, (1 << 64) - 1], "layers": [65, *HUGE], "chunks": [1, 2, 65535, 65536, *HUGE],
                  "total": [0, 1 << 46, (1 << 46) + 1, (1 << 63) - 1, (1 << 64) - 1], "received": [0, *HUGE]}
    check_numbers(c, half, FIELDS, impossible)
    # In chunks of SCANDUMP: every chunk but the last is full.
    c("BF.RESERVE large 0.01 20000000")
    cursor, data = c("BF.SCANDUMP large 0")
    expect(c, ["BF.LOADCHUNK", "part", cursor, data], OK)
    check_numbers(c, "part", FIELDS, {"chunks": [2, 3, 65536, *HUGE],
                                      "received": [0, 1, (16 << 20) - 65, 16 << 20, *HUGE]})


@test
def numbers_that_no_filter_of_redisbloom_can_have_are_refused(s):
    _, c = start(s)
    expect(c, "CONFIG SET kith.compat redisbloom", OK)
    expect(c, "BF.RESERVE bf 0.01 1000", OK)
    expect(c, "CF.RESERVE cf 1000 EXPANSION 2", OK)
    for i in range(100):
        c("BF.ADD", "bf", i)
        c("CF.ADD", "cf", i)
    bits = number(c("DUMP bf"), 8)
    check_numbers(c, "bf", ["items", "levels", "options", "growth", "capacity", "rate", "hashes", "bits_per_entry",
                            "bits", "log2_bits", "level_items"],
                  {"items": [0, 1, 1001, *HUGE], "levels": [0, 2, *HUGE], "options": [16, 1 << 31, *HUGE],
                   "growth": [0, *HUGE[3:]], "capacity": [0, 99, 2000, bits, *HUGE],
                   "rate": [0.0, -0.01, 1.0, 2.0, 0.5, 0.004, 1e-300, float("inf"), float("nan")],
                   "hashes": [0, 1, 7, 2048, *HUGE],
                   "bits_per_entry": [0.0, -1.0, 1.0, 100.0, float("inf"), float("nan")],
                   "bits": [0, 8, bits - 64, bits + 64, *HUGE], "log2_bits": [1, 13, 14, 64, *HUGE],
                   "level_items": [0, 99, 101, 1001, *HUGE]})
    check_numbers(c, "cf", ["filters", "buckets", "items", "deletes", "bucket_size", "max_iterations", "expansion",
                            "level_buckets"],
                  {"filters": [0, 2, 65535, 65536, *HUGE], "buckets": [0, 1, 3, 256, 1024, *HUGE],
                   "items": [1025, *HUGE], "deletes": [1 << 63, (1 << 64) - 1], "bucket_size": [0, 1, 3, 256, *HUGE],
                   "max_iterations": [0, 65536, *HUGE], "expansion": [3, 32769, *HUGE],
                   "level_buckets": [0, 1, 256, 1024, *HUGE]})


if __name__ == "__main__":
    main()
