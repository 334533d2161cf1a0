#!/usr/bin/python3
"""Memory: the cap per filter is checked before anything is allocated, and a server that has too little memory replies
with an error and lives on."""
import json
import os
import subprocess

from resp import Error, OK
from server import check, digest, equal, expect, expect_error, info, main, test, wait_until

GIB = 1 << 30
MIB = 1 << 20


def used(c):
    return int(info(c, "memory")["used_memory"])


@test
def reservations_above_the_cap_are_refused_before_they_cost_memory(s):
    server = s.start(memory_bytes=4 * GIB)
    c = server.connect()
    before = used(c)
    for call in ("BF.RESERVE k 0.000001 1073741824", "BF.RESERVE k 0.000001 1073741824 NONSCALING",
                 "BF.INSERT k CAPACITY 1073741824 ERROR 0.0000001 ITEMS x", "CF.RESERVE k 1073741824",
                 "CF.RESERVE k 1073741824 BUCKETSIZE 4 EXPANSION 0", "CF.INSERT k CAPACITY 1073741824 ITEMS x",
                 "KITH.RESERVE k blocked 0.01 1000000000000", "KITH.RESERVE k bloom 0.000001 1073741824",
                 "KITH.RESERVE k auto 0.01 1000000000000"):
        got = c(*call.split())
        check(isinstance(got, Error), f"{call} returned {got!r}")
        check("max-filter-bytes" in got, f"{call}: the error does not name the setting: {got}")
        expect(c, "EXISTS k", 0)
    check(used(c) - before < MIB, "memory was allocated")
    expect(c, "BF.RESERVE fits 0.01 100000000 NONSCALING", OK)


def huge_page_mappings(server):
    """The number of mappings of the server that are marked for huge pages."""
    with open(f"/proc/{server.process.pid}/smaps", encoding="ascii", errors="replace") as f:
        return sum("hg" in line.split() for line in f if line.startswith("VmFlags:"))


@test
def huge_pages_are_used_for_large_filters_if_they_are_asked_for(s):
    if not os.path.exists("/sys/kernel/mm/transparent_hugepage/enabled"):
        return
    server = s.start(module_args=["huge-pages-from", "32mb"])
    c = server.connect()
    equal(c("CONFIG", "GET", "kith.huge-pages-from"), [b"kith.huge-pages-from", str(32 * MIB).encode()])
    expect(c, "BF.RESERVE small 0.01 10000000 NONSCALING", OK)
    equal(huge_page_mappings(server), 0)
    expect(c, "BF.RESERVE large 0.01 100000000 NONSCALING", OK)
    check(huge_page_mappings(server) > 0, "the large filter has no huge pages")
    items = [f"i{i}" for i in range(1000)]
    equal(c("BF.MADD", "large", *items), [1] * len(items))
    equal(c("BF.MEXISTS", "large", *items), [1] * len(items))
    expect(c, "DEL large", 1)
    # A thread of the server frees the memory: Valkey 8 turns every DEL into an UNLINK.
    wait_until(lambda: huge_page_mappings(server) == 0, about="the freed memory still asks for huge pages")
    expect(c, "CONFIG SET kith.huge-pages-from 0", OK)
    expect(c, "BF.RESERVE large 0.01 100000000 NONSCALING", OK)
    equal(huge_page_mappings(server), 0)


@test
def growth_stops_at_the_cap_with_a_named_error(s):
    server = s.start(memory_bytes=4 * GIB)
    c = server.connect()
    expect(c, f"CONFIG SET kith.max-filter-bytes {MIB}", OK)
    for prefix, reserve in (("BF", "BF.RESERVE {} 0.01 1000"), ("CF", "CF.RESERVE {} 1000 EXPANSION 2")):
        key = prefix.lower()
        expect(c, reserve.format(key), OK)
        added, error, number = [], None, 0
        insert = [f"{prefix}.INSERT", key, "ITEMS"]
        while error is None:
            batch = [f"i{i}" for i in range(number, number + 10000)]
            number += 10000
            replies = c(*insert, *batch)
            equal(len(replies), len(batch))
            good = [item for item, reply in zip(batch, replies) if reply in (0, 1) and not isinstance(reply, Error)]
            added += good
            # An item that was refused may fit now, because later ones have moved entries of the cuckoo filter.
            refused = [item for item, reply in zip(batch, replies) if isinstance(reply, Error) or reply == -1]
            error = next((r for r in (c(f"{prefix}.ADD", key, item) for item in refused) if isinstance(r, Error)), None)
            check(number < 5000000, "the filter grows without end")
        check(isinstance(error, Error) and "max-filter-bytes" in error, f"the error is {error!r}")
        check(c("MEMORY", "USAGE", key) <= 1.1 * MIB, "the filter is larger than the cap")
        for start in range(0, len(added), 10000):
            batch = added[start:start + 10000]
            equal(c(f"{prefix}.MEXISTS", key, *batch), [1] * len(batch))
        expect(c, f"CONFIG SET kith.max-filter-bytes {4 * MIB}", OK)
        check(1 in c(*insert, *(f"now it grows {i}" for i in range(20))), "the filter does not grow")
        expect(c, f"CONFIG SET kith.max-filter-bytes {MIB}", OK)


@test
def the_cap_does_not_hold_for_replicas_and_restarts(s):
    primary = s.start("--appendonly", "yes", memory_bytes=4 * GIB)
    c = primary.connect()
    small = ["max-filter-bytes", "65536"]
    replica = s.start("--replicaof", f"127.0.0.1 {primary.port}", module_args=small, memory_bytes=4 * GIB)
    r = replica.connect()
    wait_until(lambda: info(r, "replication").get("master_link_status") == "up", about="the replica is in sync")
    c("BF.RESERVE b 0.01 1000000")
    c("CF.RESERVE c 1000 EXPANSION 2")
    for start in range(0, 100000, 10000):
        c("CF.INSERT", "c", "ITEMS", *[f"i{i}" for i in range(start, start + 10000)])
    c("BF.ADD b x")
    wait_until(lambda: digest(r, "b", "c") == digest(c, "b", "c"), about="the replica has the same filters")
    before = digest(c, "b", "c")
    primary.module_args = small
    primary.restart()
    c = primary.connect()
    equal(digest(c, "b", "c"), before, "after a restart with a lower cap")
    expect_error(c, "BF.RESERVE d 0.01 1000000", "max-filter-bytes")


@test
def a_server_without_memory_replies_with_an_error(s):
    server = s.start(memory_bytes=1 * GIB)
    c = server.connect()
    expect(c, f"CONFIG SET kith.max-filter-bytes {64 * GIB}", OK)
    check("max-filter-bytes" in server.log(), "raising the cap above what RESTORE takes is logged")
    for call in ("BF.RESERVE k 0.0001 1073741824 NONSCALING", "CF.RESERVE k 1073741824 EXPANSION 0",
                 "KITH.RESERVE k blocked 0.0001 1073741824"):
        expect_error(c, call, "nsufficient memory")
        expect(c, "EXISTS k", 0)
    expect(c, "BF.ADD k x", 1)


@test
def maxmemory_refuses_writes_but_not_reads(s):
    server = s.start("--maxmemory-policy", "noeviction")
    c = server.connect()
    c("BF.ADD b x")
    c("CF.ADD c x")
    c("CONFIG SET maxmemory 1")
    for call in ("BF.ADD b y", "BF.MADD b y", "BF.RESERVE n 0.01 10", "BF.INSERT b ITEMS y", "CF.ADD c y",
                 "CF.ADDNX c y",
                 "CF.RESERVE n 10", "CF.INSERT c ITEMS y", "CF.INSERTNX c ITEMS y", "KITH.MADD b y",
                 "KITH.RESERVE n blocked 0.01 10", "BF.LOADCHUNK n 1 abc", "KITH.LOAD n 0 10 abc"):
        expect_error(c, call, "OOM")
    expect(c, "BF.EXISTS b x", 1)
    expect(c, "CF.COUNT c x", 1)
    expect(c, "CF.DEL c x", 1)


@test
def a_load_announced_as_too_large_is_refused_at_once(s):
    c = s.start(memory_bytes=4 * GIB).connect()
    before = used(c)
    expect_error(c, ["KITH.LOAD", "k", 0, 481 * MIB, b"\x8bKITH\r\n\x1a" + bytes(300)], "max-filter-bytes")
    check(used(c) - before < MIB)
    expect(c, "EXISTS k", 0)


@test
def memory_usage_is_what_kith_plan_says(s):
    c = s.start(memory_bytes=4 * GIB).connect()
    for count in (1000000, 20000000):
        for call, needs in ((f"BF.RESERVE k 0.01 {count} NONSCALING", []), (f"BF.RESERVE k 0.01 {count}", ["--grow"]),
                                  (f"BF.RESERVE k 0.0001 {count} NONSCALING", []),
                                  (f"CF.RESERVE k {count} EXPANSION 0", ["--delete"]),
                                  (f"CF.RESERVE k {count}", ["--grow", "--delete"])):
            expect(c, call, OK)
            stats = c("KITH.STATS k")
            rate = call.split()[2] if call.startswith("BF") else "0.01"
            plan = subprocess.run([os.environ["KITH_TOOL"], "plan", "-n", str(count), "-p", rate, "--json", *needs],
                                  check=True, capture_output=True, text=True).stdout
            kind = stats[1].decode()
            rows = [row for row in json.loads(plan)["kinds"] if row["kind"] == kind]
            planned = next((row for row in rows if row["recommended"]), rows[0])["file_bytes"]
            used_bytes = c("MEMORY USAGE k")
            check(abs(used_bytes - planned) <= 0.02 * planned,
                  f"{call}: {used_bytes} bytes, planned {planned} for {kind}")
            c("DEL k")


@test
def a_filter_with_the_most_layers_says_so(s):
    c = s.start().connect()
    expect(c, "BF.RESERVE k 0.01 1 EXPANSION 1", OK)
    errors = [reply for reply in c("BF.MADD", "k", *range(200)) if isinstance(reply, Error)]
    expect(c, "BF.INFO k FILTERS", [64])
    check(errors and all("at most 64 layers" in error for error in errors), repr(errors[:1]))


if __name__ == "__main__":
    main()
