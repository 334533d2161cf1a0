#!/usr/bin/python3
"""kith push and kith query with a cluster of three servers: shards are spread over them, and are found while they
move."""
import subprocess
import threading

from server import check, equal, find_program, info, main, test, wait_until
from tool import Tool


class Cluster:
    """Three primaries, with `replicas` replicas each. After `node_timeout_ms`, a node that does not reply is down. The
    default is so long that a node on a busy machine is not taken for one."""

    def __init__(self, s, replicas=0, node_timeout_ms=60000):
        self.nodes = [s.start("--cluster-enabled", "yes", "--cluster-node-timeout", "1000")
                      for _ in range(3 + 3 * replicas)]
        self.cli = find_program(s.kind, "cli")
        self.manage("create", *[f"127.0.0.1:{node.port}" for node in self.nodes], "--cluster-replicas", str(replicas))
        wait_until(lambda: all(b"cluster_state:ok" in node.connect()("CLUSTER INFO") for node in self.nodes),
                   about="the cluster is up")
        for node in self.nodes:
            equal(str(node.connect()("CONFIG", "SET", "cluster-node-timeout", node_timeout_ms)), "OK")

    def call(self, *words):
        return subprocess.run([self.cli, "--cluster", *words, "--cluster-yes"], capture_output=True, text=True,
                              timeout=300)

    def manage(self, *words):
        done = self.call(*words)
        check(done.returncode == 0, done.stdout + done.stderr)

    def address(self, key="k", node=0, scheme="redis+cluster"):
        return f"{scheme}://127.0.0.1:{self.nodes[node].port}/{key}"

    def keys(self):
        return [sorted(name.decode() for name in node.connect()("KEYS", "*")) for node in self.nodes]

    def id(self, node):
        return self.nodes[node].connect()("CLUSTER MYID").decode()

    def reshard(self, source, target, slots):
        # redis-cli refuses to move slots while nodes disagree, as they do for a moment after slots have moved.
        wait_until(lambda: self.call("check", f"127.0.0.1:{self.nodes[0].port}").returncode == 0, about="nodes agree")
        self.manage("reshard", f"127.0.0.1:{self.nodes[0].port}", "--cluster-from", self.id(source), "--cluster-to",
                    self.id(target), "--cluster-slots", str(slots))


@test
def shards_are_spread_over_all_nodes(s):
    cluster = Cluster(s)
    with Tool() as t:
        t.keys("list", 0, 30000)
        t.keys("others", 30000, 60000)
        t("push", "--shards", 16, "list", cluster.address())
        held = [[name for name in names if name != "k"] for names in cluster.keys()]
        equal(sum(map(len, held)), 16)
        check(all(len(names) in (5, 6) for names in held), held)
        for node in range(3):
            equal(t("query", "-c", cluster.address(node=node), "list"), b"30000\n")
        # 30,000 lookups at a rate of 0.1%: 100 is 12 standard deviations above the mean
        check(int(t("query", "-c", cluster.address(), "others", status=None)) <= 100)
        t("push", "--shards", 5, "--replace", "list", cluster.address(node=1))
        equal(sum(map(len, cluster.keys())), 6)
        equal(t("query", "-c", cluster.address(node=2), "list"), b"30000\n")


@test
def a_filter_goes_to_the_node_of_its_key_and_back(s):
    cluster = Cluster(s)
    with Tool() as t:
        t.keys("list", 0, 2000)
        t("build", "-o", "f.kith", "list")
        for key in ("a", "b", "c", "d", "%7Btag%7Dx", "x%7Dy"):
            t("push", "f.kith", cluster.address(key))
            t("push", "--replace", "f.kith", cluster.address(key, 1))
            equal(t("pull", cluster.address(key, 2)), t.read("f.kith"))
            equal(t("query", "-c", cluster.address(key, 2), "list"), b"2000\n")
        counts = [len(names) for names in cluster.keys()]
        equal(sum(counts), 6)
        check(all(counts), counts)
        # Without +cluster, the address of the wrong node is an error that says what to write.
        failed = 0
        for node in range(3):
            t("query", "-c", cluster.address("a", node, "redis"), "list", status=None)
            failed += t.status == 2 and "redis+cluster://" in t.err
        equal(failed, 2)


@test
def only_the_shards_of_the_key_are_replaced_and_removed(s):
    cluster = Cluster(s)

    def everything():
        """All keys on all nodes with their values."""
        found = {}
        for node in cluster.nodes:
            c = node.connect()
            found |= {name.decode(): c("DUMP", name) for name in c("KEYS", "*")}
        return found

    def call(*words):
        """Runs a command on the node of its key."""
        replies = [node.connect()(*words) for node in cluster.nodes]
        return next(reply for reply in replies if not str(reply).startswith("MOVED"))

    def left(t):
        return sorted(line.split("left on the server: ")[1].split(": ")[0] for line in t.err.splitlines())
    with Tool() as t:
        t.keys("list", 0, 3000)
        t.keys("more", 1000, 6000)
        t("build", "-o", "f.kith", "list")
        t("push", "--shards", 9, "list", cluster.address("other"))
        t("push", "--shards", 4, "list", cluster.address())
        taken, *more = call("GET", "k").decode().splitlines()[4:]
        for name in ("k", taken, *more):
            equal(call("DEL", name), 1)
        for name in ("precious1", "precious2", "precious3", taken):
            call("SET", name, "value")
        others = everything()
        check(all(cluster.keys()), "there is a key on each node")
        names = sorted(name for name in others if name != "other")
        forged = "".join(f"{line}\n" for line in ["kith-shards 1", call("GET", "other").decode().splitlines()[1],
                                                 f"shards {len(names)}", "recipe 0", *names])
        for push in (["f.kith"], ["--shards", 7, "list"]):
            call("SET", "k", forged)
            t("push", "--replace", *push, cluster.address())
            equal(left(t), names)
            now = everything()
            equal({name: now.get(name) for name in others}, others)
            equal(t("query", "-c", cluster.address(), "list"), b"3000\n")
            equal(t("query", "-c", cluster.address("other"), "list"), b"3000\n")
        # A set of 7 is there now; 7 again, then 5 shards, then a description that was renamed within its slot.
        for number in (7, 5):
            t("push", "--replace", "--shards", number, "more", cluster.address(node=1))
            equal((t.err, len(everything())), ("", len(others) + 1 + number))
            equal(t("query", "-c", cluster.address(node=2), "more"), b"5000\n")
        shards = sorted(name for name in everything() if name.startswith("k:") and name not in others)
        call("RENAME", "k", "{k}renamed")
        t.fails("push", "--replace", "--shards", 5, "list", cluster.address(), says=["in the way", "another set"])
        t.fails("push", "--replace", "--shards", 4, "list", cluster.address(), says=[taken, "in the way"])
        t("push", "--replace", "--shards", 3, "list", cluster.address())
        equal(t("query", "-c", cluster.address("%7Bk%7Drenamed"), "more"), b"5000\n")
        t("push", "--replace", "f.kith", cluster.address("%7Bk%7Drenamed"))
        equal(left(t), shards)
        now = everything()
        check(all(name in now for name in shards), "the shards that were renamed are there")


@test
def lookups_stay_complete_while_slots_move(s):
    cluster = Cluster(s)
    with Tool() as t:
        t.keys("list", 0, 20000)
        t("push", "--shards", 24, "list", cluster.address())
        failures = []

        def reshard():
            try:
                for source, target in ((0, 1), (1, 2), (2, 0)):
                    cluster.reshard(source, target, 3000)
            except Exception as e:  # shown by the main thread
                failures.append(e)
        mover = threading.Thread(target=reshard)
        mover.start()
        rounds = 0
        while mover.is_alive() or rounds == 0:
            equal(t("query", "-c", cluster.address(node=rounds % 3), "list"), b"20000\n")
            rounds += 1
        mover.join()
        equal(failures, [])
        equal(t("query", "-c", cluster.address(), "list"), b"20000\n")
        t("push", "--shards", 24, "--replace", "list", cluster.address())
        equal(sum(map(len, cluster.keys())), 25)


@test
def a_slot_that_is_being_moved_is_asked_on_both_nodes(s):
    cluster = Cluster(s)
    with Tool() as t:
        t.keys("list", 0, 2000)
        t("build", "-o", "f.kith", "list")
        t("push", "f.kith", cluster.address("a"))  # slot 15495, on the last node
        slot = cluster.nodes[0].connect()("CLUSTER", "KEYSLOT", "a")
        source, target = cluster.nodes[2], cluster.nodes[0]
        target.connect()("CLUSTER", "SETSLOT", slot, "IMPORTING", cluster.id(2))
        source.connect()("CLUSTER", "SETSLOT", slot, "MIGRATING", cluster.id(0))
        equal(t("query", "-c", cluster.address("a"), "list"), b"2000\n")
        equal(str(source.connect()("MIGRATE", "127.0.0.1", target.port, "a", 0, 5000)), "OK")
        # Now the owner of the slot replies ASK.
        equal(t("query", "-c", cluster.address("a"), "list"), b"2000\n")
        equal(t("pull", cluster.address("a")), t.read("f.kith"))
        # Two keys of a slot that is being moved cannot be renamed, so a push waits, and gives up with the reason.
        t.fails("push", "--timeout", 1, "f.kith", cluster.address("%7Ba%7Dnew"), says=["TRYAGAIN", "gave up after 1 s"])


@test
def a_description_is_replaced_while_its_slot_moves(s):
    cluster = Cluster(s)
    with Tool() as t:
        t.keys("list", 0, 2000)
        t.keys("more", 1000, 4000)
        t("push", "--shards", 3, "list", cluster.address("a"))  # slot 15495, on the last node
        slot = cluster.nodes[0].connect()("CLUSTER", "KEYSLOT", "a")
        source, target = cluster.nodes[2], cluster.nodes[0]
        target.connect()("CLUSTER", "SETSLOT", slot, "IMPORTING", cluster.id(2))
        source.connect()("CLUSTER", "SETSLOT", slot, "MIGRATING", cluster.id(0))
        t("push", "--shards", 3, "--replace", "more", cluster.address("a"))
        equal(str(source.connect()("MIGRATE", "127.0.0.1", target.port, "a", 0, 5000)), "OK")
        # Now the owner of the slot replies ASK.
        for number in (3, 2):
            t("push", "--shards", number, "--replace", "more", cluster.address("a"))
            equal((t.err, sum(map(len, cluster.keys()))), ("", number + 1))
            equal(t("query", "-c", cluster.address("a", 1), "more"), b"3000\n")


@test
def a_cluster_that_is_down_is_named(s):
    cluster = Cluster(s, node_timeout_ms=1000)
    with Tool() as t:
        t.keys("list", 0, 3000)
        t("push", "--shards", 6, "list", cluster.address())
        cluster.nodes[2].kill()
        wait_until(lambda: all(b"cluster_state:fail" in node.connect()("CLUSTER INFO") for node in cluster.nodes[:2]),
                   about="the cluster is down")
        t.fails("query", "--timeout", 1, "-c", cluster.address(), "list", says=["CLUSTERDOWN", "gave up after 1 s"])
        cluster.nodes[1].kill()  # the node of k, slot 7629
        t.fails("query", "--timeout", 1, "-c", cluster.address(), "list", says=["gave up after 1 s", "cannot connect"])


@test
def lookups_wait_for_a_failover(s):
    cluster = Cluster(s, replicas=1, node_timeout_ms=1000)
    with Tool() as t:
        t.keys("list", 0, 5000)
        t("push", "--shards", 9, "list", cluster.address())
        for node in cluster.nodes[:3]:
            wait_until(lambda: f",offset={info(node.connect(), 'replication')['master_repl_offset']},"
                       in info(node.connect(), "replication").get("slave0", ""), about="the replica has the shards")
        cluster.nodes[1].kill()
        equal(t("query", "-c", cluster.address(), "list"), b"5000\n")


if __name__ == "__main__":
    main()
