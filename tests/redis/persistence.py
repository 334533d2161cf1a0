#!/usr/bin/python3
"""Filters survive restarts: RDB, AOF with and without RDB preamble, DUMP and RESTORE, COPY, and what else the server
does with keys. Values are compared by DEBUG DIGEST-VALUE, which covers every byte of a filter."""
import workload
from resp import OK, Lost, NilArray
from server import check, digest, equal, expect, info, main, test, wait_until


def digests(c, names):
    values = digest(c, *names)
    check(len(values) == len(names) and all(set(value) != {"0"} for value in map(str, values)), f"digests {values!r}")
    return dict(zip(names, values))


def alike(before, after):
    for name in before:
        equal(after[name], before[name], f"{name} is not what it was")


@test
def rdb_keeps_every_byte(s):
    server = s.start()
    c = server.connect()
    names = workload.populate(c, big=True)
    before = digests(c, names)
    sizes = [c("MEMORY", "USAGE", name) for name in names]
    server.restart(save=True)
    c = server.connect()
    alike(before, digests(c, names))
    # A filter may use less after a restart: insertions into full buckets need work space.
    for name, size in zip(names, sizes):
        after = c("MEMORY", "USAGE", name)
        check(0 < after <= size, f"{name} uses {after} bytes after a restart, {size} before")
    equal(c("BF.MADD bf:big item1 item2"), [0, 0])
    equal(c("CF.MEXISTS cf:big item1 nothing"), [1, 0])
    # Filters that were loaded grow and change like those that were created.
    c("BF.MADD", "bf:grown", *[f"new{i}" for i in range(2000)])
    equal(c("BF.MEXISTS", "bf:grown", *[f"new{i}" for i in range(2000)]), [1] * 2000)


@test
def debug_reload_keeps_every_byte(s):
    c = s.connect()
    names = workload.populate(c)
    before = digests(c, names)
    expect(c, "DEBUG RELOAD", OK)
    alike(before, digests(c, names))


@test
def a_background_save_has_the_state_at_its_start(s):
    server = s.start()
    c = server.connect()
    names = workload.populate(c, big=True)
    before = digests(c, names)
    c("BGSAVE")
    for i in range(300):
        c("BF.ADD", "bf:grown", f"later{i}")
        c("CF.ADD", "cf:grown", f"later{i}")
    wait_until(lambda: info(c, "persistence")["rdb_bgsave_in_progress"] == "0", about="BGSAVE ends")
    equal(info(c, "persistence")["rdb_last_bgsave_status"], "ok")
    server.kill()
    server.start()
    alike(before, digests(server.connect(), names))


def aof(s, preamble):
    server = s.start("--appendonly", "yes", "--appendfsync", "always", "--aof-use-rdb-preamble", preamble,
                     "--auto-aof-rewrite-percentage", "0")
    c = server.connect()
    names = workload.populate(c)
    for _ in range(600):
        command = workload.random_command(s.random, ["bf:x", "bf:y", "bf:grown"], ["cf:x", "cf:y", "cf:grown"])
        c(*command)
    names = sorted(key.decode() for key in c("KEYS *"))
    before = digests(c, names)
    server.kill()  # what is restored is the log of commands, with appendfsync always
    server.start()
    c = server.connect()
    equal(sorted(key.decode() for key in c("KEYS *")), names)
    alike(before, digests(c, names))

    c("BGREWRITEAOF")
    c("BF.ADD bf:after_rewrite x")
    c("CF.ADD cf:grown after_rewrite")
    wait_until(lambda: info(c, "persistence")["aof_rewrite_in_progress"] == "0"
               and info(c, "persistence")["aof_rewrite_scheduled"] == "0", about="BGREWRITEAOF ends")
    equal(info(c, "persistence")["aof_last_bgrewrite_status"], "ok")
    names = sorted(key.decode() for key in c("KEYS *"))
    before = digests(c, names)
    server.restart()
    c = server.connect()
    equal(sorted(key.decode() for key in c("KEYS *")), names)
    alike(before, digests(c, names))


@test
def aof_with_rdb_preamble_keeps_every_byte(s):
    aof(s, "yes")


@test
def aof_without_rdb_preamble_keeps_every_byte(s):
    aof(s, "no")


@test
def a_rewritten_aof_restores_filters_of_several_chunks(s):
    server = s.start("--appendonly", "yes", "--aof-use-rdb-preamble", "no")
    c = server.connect()
    names = workload.populate(c, big=True)
    before = digests(c, names)
    c("BGREWRITEAOF")
    wait_until(lambda: info(c, "persistence")["aof_rewrite_in_progress"] == "0"
               and info(c, "persistence")["aof_rewrite_scheduled"] == "0", about="BGREWRITEAOF ends")
    server.restart()
    alike(before, digests(server.connect(), names))


@test
def dump_and_restore_keep_every_byte(s):
    c = s.connect()
    other = s.start().connect()
    names = workload.populate(c)
    before = digests(c, names)
    for name in names:
        payload = c("DUMP", name)
        expect(c, ["RESTORE", name + ":2", "0", payload], OK)
        expect(other, ["RESTORE", name, "0", payload], OK)
        equal(digest(c, name + ":2"), [before[name]])
    alike(before, digests(other, names))


@test
def copies_are_equal_and_independent(s):
    c = s.connect()
    names = workload.populate(c)
    before = digests(c, names)
    for name in names:
        expect(c, ["COPY", name, name + ":2"], 1)
        equal(digest(c, name + ":2"), [before[name]])
        command = ["CF.INSERT", name + ":2", "ITEMS"] if name.startswith("cf") else ["BF.MADD", name + ":2"]
        c(*command, *[f"fresh{i}" for i in range(500)])
    alike(before, digests(c, names))
    expect(c, "COPY cf:one in_db_1 DB 1", 1)


@test
def keys_expire_are_renamed_and_are_freed_in_the_background(s):
    c = s.connect()
    names = workload.populate(c, big=True)
    for name in names:
        expect(c, ["RENAME", name, name + ":2"], OK)
    equal(c("UNLINK", *[name + ":2" for name in names]), len(names))
    names = workload.populate(c)
    c("PEXPIRE bf:one 30")
    wait_until(lambda: c("EXISTS bf:one") == 0, about="bf:one expires")
    expect(c, "BF.EXISTS bf:one item1", 0)
    expect(c, "FLUSHALL ASYNC", OK)
    wait_until(lambda: info(c, "memory")["lazyfree_pending_objects"] == "0", about="the objects are freed")


@test
def changes_are_announced_as_keyspace_events(s):
    c, listener = s.connect(), s.connect()
    expect(c, "CONFIG SET notify-keyspace-events KA", OK)
    listener("PSUBSCRIBE", "__keyspace@0__:*")

    def events(call):
        c(*call.split())
        c("SET mark x")
        seen = []
        while True:
            message = listener.read()
            if message[2].endswith(b":mark"):
                return seen
            seen.append(message[2].split(b":", 1)[1])

    for call in ("BF.RESERVE b 0.01 100", "BF.ADD b x", "BF.MADD b y z", "BF.INSERT b2 ITEMS x", "CF.RESERVE c 1000000",
                 "CF.ADD c x", "CF.ADDNX c y", "CF.INSERT c ITEMS z", "CF.DEL c z", "CF.ADD c2 x"):
        check(call.split()[1].encode() in events(call), f"no event for {call}")
    for call in ("BF.ADD b x", "BF.EXISTS b x", "BF.INFO b", "CF.ADDNX c x", "CF.DEL c nothing", "CF.EXISTS c x",
                 "BF.RESERVE b 0.01 100"):
        equal(events(call), [], f"events for {call}, which changes nothing")
    c("CONFIG SET notify-keyspace-events", "")


@test
def a_watched_filter_that_changes_aborts_the_transaction(s):
    c, other = s.connect(), s.connect()
    for change, aborts in (("BF.ADD b new", True), ("BF.ADD b new", False), ("CF.ADD c x", True), ("CF.DEL c x", True),
                           ("CF.DEL c x", False), ("BF.RESERVE r 0.01 10", True), ("BF.EXISTS b x", False)):
        key = change.split()[1]
        c("WATCH", key)
        other(change)
        reply = c.many(["MULTI", "PING", "EXEC"])[-1]
        equal(reply is NilArray, aborts, f"EXEC after {change} returned {reply!r}")


@test
def a_change_makes_the_server_save(s):
    server = s.start("--save", "3600 1")
    c = server.connect()

    def changes():
        return int(info(c, "persistence")["rdb_changes_since_last_save"])

    for call in ("BF.RESERVE b 0.01 100", "BF.ADD b x", "CF.ADD c x", "CF.DEL c x"):
        before = changes()
        c(call)
        check(changes() > before, f"{call} is not counted as a change")
    for call in ("BF.ADD b x", "BF.EXISTS b x", "CF.DEL c x", "CF.EXISTS c x"):
        before = changes()
        c(call)
        equal(changes(), before, f"{call} changes nothing, but is counted")


@test
def the_server_does_not_start_with_filters_but_without_the_module(s):
    server = s.start()
    server.connect()("BF.ADD k x")
    server.stop(save=True)
    server.module = None
    try:
        server.start()
    except Lost:
        server.expect_exit = True
    else:
        check(False, "the server started")


if __name__ == "__main__":
    main()
