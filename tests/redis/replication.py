#!/usr/bin/python3
"""Primary and replicas hold the same bytes, whatever created and changed the filters. No server shows a secret key."""
import workload
from resp import OK, Error
from server import check, digest, equal, expect, expect_error, info, main, test, wait_until


def replica_of(s, primary, *options, **more):
    replica = s.start("--replicaof", f"127.0.0.1 {primary.port}", *options, **more)
    wait_linked(replica)
    return replica


def wait_linked(replica):
    c = replica.connect()
    wait_until(lambda: info(c, "replication").get("master_link_status") == "up", about="the replica is in sync")


def wait_caught_up(primary, *replicas):
    target = int(info(primary.connect(), "replication")["master_repl_offset"])
    for replica in replicas:
        c = replica.connect()
        wait_until(lambda: int(info(c, "replication").get("slave_repl_offset", "0")) >= target,
                   about="the replica catches up")


def check_equal(primary, *replicas):
    wait_caught_up(primary, *replicas)
    c = primary.connect()
    keys = sorted(c("KEYS *"))
    values = digest(c, *keys)
    for replica in replicas:
        r = replica.connect()
        equal(sorted(r("KEYS *")), keys)
        for key, mine, theirs in zip(keys, values, digest(r, *keys)):
            equal(theirs, mine, f"{key!r} differs on the replica")
        equal(r("DEBUG DIGEST"), c("DEBUG DIGEST"))


BF = [f"bf:{i}" for i in range(6)]
CF = [f"cf:{i}" for i in range(6)]
KITH = [f"kith:{i}" for i in range(4)]


@test
def random_commands_leave_equal_bytes(s):
    primary = s.start()
    replica = replica_of(s, primary)
    second = replica_of(s, replica)  # a replica of a replica gets the same stream
    c = primary.connect()
    workload.populate(c)
    for _ in range(30 if s.soak else 3):
        for _ in range(1000):
            c(*workload.random_command(s.random, BF, CF, KITH))
        check_equal(primary, replica, second)


@test
def filters_that_a_write_creates_do_not_depend_on_the_replicas_settings(s):
    primary = s.start()
    settings = ["bf-initial-size", "7", "bf-error-rate", "0.2", "cf-initial-size", "64"]
    replica = replica_of(s, primary, module_args=settings)
    c = primary.connect()
    for call in ("BF.ADD a x", "BF.MADD b x y", "BF.INSERT c ITEMS x", "CF.ADD d x", "CF.ADDNX e x",
                 "CF.INSERT f ITEMS x y",
                 "CF.INSERTNX g CAPACITY 100 ITEMS x x", "BF.RESERVE h 0.01 10", "CF.RESERVE i 10"):
        c(call)
    for key in "abch":
        c("BF.MADD", key, *[f"i{n}" for n in range(500)])
    for key in "defgi":
        c("CF.INSERT", key, "ITEMS", *[f"i{n}" for n in range(500)])
    check_equal(primary, replica)
    expect(replica.connect(), "BF.INFO a CAPACITY", c("BF.INFO a CAPACITY"))


@test
def a_full_sync_of_existing_filters(s):
    primary = s.start()
    c = primary.connect()
    workload.populate(c, big=True)
    for options in ([], ["--repl-diskless-load", "swapdb"]):
        replica = replica_of(s, primary, *options)
        c("BF.ADD bf:grown sync")
        check_equal(primary, replica)
    # The second full sync replaces what the replica holds.
    r = replica.connect()
    expect(r, "REPLICAOF NO ONE", OK)
    r("BF.ADD bf:grown only_here")
    r("BF.ADD only_here x")
    r("REPLICAOF", "127.0.0.1", primary.port)
    wait_linked(replica)
    check_equal(primary, replica)


@test
def a_partial_sync_after_a_lost_connection(s):
    primary = s.start("--repl-backlog-size", "16mb")
    replica = replica_of(s, primary)
    c = primary.connect()
    workload.populate(c)
    check_equal(primary, replica)
    full = info(c, "stats")["sync_full"]
    for _ in range(3):
        c("CLIENT KILL TYPE replica")
        for _ in range(200):
            c(*workload.random_command(s.random, BF, CF, KITH))
        wait_linked(replica)
        check_equal(primary, replica)
    equal(info(c, "stats")["sync_full"], full, "a full sync was needed")
    check(int(info(c, "stats")["sync_partial_ok"]) >= 3, "partial syncs")


@test
def a_write_that_changes_nothing_is_not_replicated(s):
    primary = s.start("--repl-ping-replica-period", "3600")
    replica = replica_of(s, primary)
    c = primary.connect()
    c("BF.ADD b x")
    c("CF.RESERVE c 1000000")  # so large that no other item looks like x
    c("CF.ADD c x")
    c("BF.RESERVE full 0.01 1 NONSCALING")
    c("BF.ADD full x")
    wait_caught_up(primary, replica)
    for call in ("BF.ADD b x", "BF.MADD b x x", "BF.INSERT b ITEMS x", "BF.RESERVE b 0.01 5", "BF.ADD full other",
                 "CF.ADDNX c x", "CF.INSERTNX c ITEMS x", "CF.DEL c nothing", "CF.DEL none x", "BF.EXISTS b x",
                 "BF.INSERT none NOCREATE ITEMS x", "BF.LOADCHUNK b 1 abc", "CF.RESERVE c 100"):
        before = info(c, "replication")["master_repl_offset"]
        c(call)
        equal(info(c, "replication")["master_repl_offset"], before, f"{call} was replicated")
    check_equal(primary, replica)


@test
def no_monitor_or_slowlog_shows_the_secret_hash_key(s):
    primary = s.start("--slowlog-log-slower-than", "0", "--slowlog-max-len", "10000")
    replica = replica_of(s, primary, "--slowlog-log-slower-than", "0", "--slowlog-max-len", "10000")
    c, r = primary.connect(), replica.connect()
    monitors = [(server, server.connect()) for server in (primary, replica)]
    for _, monitor in monitors:
        equal(monitor("MONITOR"), OK)
    calls = ["BF.RESERVE b 0.01 100", "BF.ADD auto x", "CF.RESERVE c 100", "CF.ADD cauto x",
             "KITH.RESERVE k blocked 0.01 1000"]
    for call in calls:
        c(call)
    equal(c("EVAL", "return redis.call('BF.ADD', KEYS[1], 'x')", "1", "scripted"), 1)
    c.many(["MULTI", "BF.ADD transaction x", "EXEC"])
    secrets = []
    for key in ("b", "auto", "c", "cauto", "k", "scripted", "transaction"):
        block = c("KITH.DUMP", key, "0")[2]
        equal(block[:8], b"\x8bKITH\r\n\x1a")
        equal(block[32:34], b"\1\0", f"the hash of {key} is SipHash")
        secrets.append(block[48:64])
    equal(len(set(secrets)), len(secrets), "secret keys are all different")
    check(bytes(16) not in secrets)
    c("SET end x")
    wait_caught_up(primary, replica)
    r("PING")
    for server, monitor in monitors:
        seen = ""
        while '"end"' not in seen:
            line = str(monitor.read())
            seen += line + "\n"
        slow = server.connect()("SLOWLOG GET -1")
        seen += "\n".join(repr(entry[3]) for entry in slow)
        check("_create" not in seen.lower(), f"the internal command is shown:\n{seen}")
        for secret in secrets:
            shown = "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\x{b:02x}" for b in secret)
            check(shown not in seen and repr(secret)[2:-1] not in seen and secret.hex() not in seen.lower(),
                  "a secret is shown")
    check_equal(primary, replica)


@test
def clients_may_not_call_the_internal_command(s):
    c = s.connect()
    names = [str(name) if not isinstance(name, bytes) else name.decode()
             for name in c("COMMAND LIST FILTERBY PATTERN kith._*")]
    check(names, "there is no internal command")
    for name in names:
        for count in range(1, 20):
            got = c(name, "key", *["1"] * count)
            check(isinstance(got, Error), f"{name} with {count + 1} arguments returned {got!r}")
            got = c("EVAL", "return redis.pcall(unpack(ARGV))", "0", name, "key", *["1"] * count)
            check(isinstance(got, Error), f"{name} in a script returned {got!r}")
    expect(c, "DBSIZE", 0)


@test
def expired_and_flushed_filters_go_on_the_replica_too(s):
    primary = s.start()
    replica = replica_of(s, primary)
    c = primary.connect()
    workload.populate(c)
    c("PEXPIRE bf:one 1")
    c("UNLINK bf:grown")
    wait_until(lambda: c("EXISTS bf:one") == 0, about="bf:one expires")
    check_equal(primary, replica)
    c("FLUSHALL")
    check_equal(primary, replica)


@test
def a_replica_takes_over(s):
    primary = s.start()
    replica = replica_of(s, primary)
    c, r = primary.connect(), replica.connect()
    workload.populate(c)
    check_equal(primary, replica)
    expect_error(r, "BF.ADD bf:one x", "READONLY")
    equal(r("BF.EXISTS bf:one item1"), 1)
    primary.stop()
    expect(r, "REPLICAOF NO ONE", OK)
    items = [f"taken_over_{i}" for i in range(20)]
    check(1 in r("BF.MADD", "bf:grown", *items), "the new primary adds no item")
    equal(r("BF.MEXISTS", "bf:grown", "item5", *items), [1] * 21)


if __name__ == "__main__":
    main()
