#!/usr/bin/python3
"""A cluster of 3 primaries with a replica each: filters are found wherever they are, move with their slots while
clients read and write, and keep every acknowledged write when a primary is killed."""
import threading
import time

import workload
from resp import Connection, Error, Lost, OK
from server import check, digest, equal, expect_error, info, main, test, wait_until

SLOTS = 16384
FAILOVER_MS = 1000  # node timeout for a test that waits for a failover; nodes also meet faster
NO_FAILOVER_MS = 60000  # for the others: a primary that gets no processor time for a second must not be replaced


class Client:
    """Sends each command to the node that has its key, and follows MOVED and ASK."""

    def __init__(self, ports):
        self.ports = list(ports)
        self.connections = {}
        self.slots = {}

    def connection(self, port):
        if port not in self.connections:
            self.connections[port] = Connection(port)
        return self.connections[port]

    def drop(self, port):
        c = self.connections.pop(port, None)
        if c:
            c.close()

    def __call__(self, *args, seconds=120):
        end = time.monotonic() + seconds
        slot = self.slot_of(args[1])
        port, asking = self.slots.get(slot, self.ports[0]), False
        tried = redirections = 0
        while True:
            redirections += 1
            if redirections > 5:
                time.sleep(0.01)
            try:
                c = self.connection(port)
                if asking:
                    c("ASKING")
                reply = c(*args)
            except (OSError, Lost):
                self.drop(port)
                tried += 1
                port, asking = self.ports[tried % len(self.ports)], False
                reply = Error("TRYAGAIN lost connection")
            if not isinstance(reply, Error):
                return reply
            word = reply.split()
            if word[0] == "MOVED":
                port, asking = int(word[2].split(":")[1]), False
                self.slots[slot] = port
            elif word[0] == "ASK":
                port, asking = int(word[2].split(":")[1]), True
            elif word[0] in ("TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY"):
                asking = False
                time.sleep(0.02)
            else:
                return reply
            check(time.monotonic() < end, f"{args[:2]}: {reply}")

    @staticmethod
    def slot_of(key):
        """CRC16 of the key, or of the part in braces, modulo 16384."""
        data = key.encode() if isinstance(key, str) else key
        start = data.find(b"{")
        if start >= 0:
            end = data.find(b"}", start + 1)
            if end > start + 1:
                data = data[start + 1:end]
        crc = 0
        for byte in data:
            crc ^= byte << 8
            for _ in range(8):
                crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
        return crc % SLOTS

    def close(self):
        for port in list(self.connections):
            self.drop(port)


class Cluster:
    def __init__(self, s, node_timeout_ms=NO_FAILOVER_MS):
        options = ["--cluster-enabled", "yes", "--cluster-node-timeout", str(FAILOVER_MS),
                   "--cluster-replica-validity-factor", "0", "--repl-ping-replica-period", "1",
                   "--repl-diskless-sync", "yes", "--cluster-announce-hostname", ""]
        self.nodes = [s.start(*options) for _ in range(6)]
        self.primaries, self.replicas = self.nodes[:3], self.nodes[3:]
        self.ids = {node: node.connect()("CLUSTER MYID").decode() for node in self.nodes}
        for i, node in enumerate(self.primaries):
            first, last = SLOTS * i // 3, SLOTS * (i + 1) // 3 - 1
            equal(node.connect()("CLUSTER", "ADDSLOTSRANGE", first, last), OK)
            node.connect()("CLUSTER", "SET-CONFIG-EPOCH", i + 1)
        for node in self.nodes[1:]:
            equal(self.nodes[0].connect()("CLUSTER", "MEET", "127.0.0.1", node.port), OK)
        wait_until(lambda: all(self.field(node, "cluster_known_nodes") == "6" for node in self.nodes),
                   about="nodes meet")
        for primary, replica in zip(self.primaries, self.replicas):
            wait_until(lambda: replica.connect()("CLUSTER", "REPLICATE", self.ids[primary]) == OK, about="replicate")
        wait_until(lambda: all(self.field(node, "cluster_state") == "ok" for node in self.nodes), about="cluster is up")
        wait_until(lambda: all(info(node.connect(), "replication").get("master_link_status") == "up"
                               for node in self.replicas), about="replicas are in sync")
        for node in self.nodes:
            equal(node.connect()("CONFIG", "SET", "cluster-node-timeout", node_timeout_ms), OK)
        equal([info(node.connect(), "replication")["role"] for node in self.nodes], ["master"] * 3 + ["slave"] * 3)

    @staticmethod
    def field(node, name):
        with Connection(node.port) as c:
            text = c("CLUSTER INFO").decode()
        return dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)[name]

    def client(self):
        return Client([node.port for node in self.nodes if node.alive()])

    def move_slot(self, slot, source, target):
        """What redis-cli --cluster reshard does for a slot."""
        a, b = source.connect(), target.connect()
        equal(b("CLUSTER", "SETSLOT", slot, "IMPORTING", self.ids[source]), OK)
        equal(a("CLUSTER", "SETSLOT", slot, "MIGRATING", self.ids[target]), OK)
        while True:
            keys = a("CLUSTER", "GETKEYSINSLOT", slot, 10)
            if not keys:
                break
            equal(a("MIGRATE", "127.0.0.1", target.port, "", 0, 10000, "KEYS", *keys), OK)
        for node in (b, a, *[p.connect() for p in self.primaries if p not in (source, target)]):
            node("CLUSTER", "SETSLOT", slot, "NODE", self.ids[target])


@test
def filters_move_with_their_slots_while_clients_use_them(s):
    cluster = Cluster(s)
    client = cluster.client()
    keys = [f"{prefix}:{{{tag}}}" for prefix in ("bf", "cf") for tag in range(30)]
    for key in keys:
        prefix = key[:2].upper()
        if prefix == "BF":
            equal(client("BF.RESERVE", key, "0.01", "100"), OK)
            equal(len(client("BF.MADD", key, *[f"before{i}" for i in range(300)])), 300)
        else:
            equal(client("CF.RESERVE", key, "100"), OK)
            equal(client("CF.INSERT", key, "ITEMS", *[f"before{i}" for i in range(300)]), [1] * 300)

    stop, wrong, written = threading.Event(), [], {key: 0 for key in keys}

    def use(mine):
        try:
            own = cluster.client()
            number = 0
            while not stop.is_set():
                for key in mine:
                    prefix = key[:2].upper()
                    reply = own(f"{prefix}.ADD", key, f"during{number}")
                    if reply not in (0, 1):
                        wrong.append((key, reply))
                    written[key] = number + 1
                    reply = own(f"{prefix}.MEXISTS", key, "before7", f"during{number}", "before299")
                    if reply != [1, 1, 1]:
                        wrong.append((key, reply))
                number += 1
            own.close()
        except Exception as e:  # reported by the main thread
            wrong.append(e)

    threads = [threading.Thread(target=use, args=(keys[i::2],)) for i in range(2)]
    for thread in threads:
        thread.start()
    try:
        # Each slot moves once: a node that has not heard of a first move can take a second one for the older of both.
        for number, slot in enumerate(sorted({Client.slot_of(key) for key in keys})):
            wait_until(lambda: wrong or min(written.values()) > number // 8, about="both threads write to their keys")
            owner = next(i for i in range(3) if SLOTS * i // 3 <= slot < SLOTS * (i + 1) // 3)
            cluster.move_slot(slot, cluster.primaries[owner], cluster.primaries[(owner + 1) % 3])
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    check(not wrong, f"{len(wrong)} wrong replies, the first is {wrong[:1]}")
    check(min(written.values()) > 3, f"only {min(written.values())} writes to a key while slots moved")
    for key in keys:
        prefix = key[:2].upper()
        items = [f"before{i}" for i in range(300)] + [f"during{i}" for i in range(written[key])]
        equal(client(f"{prefix}.MEXISTS", key, *items), [1] * len(items), key)
    for node in cluster.nodes:  # every replica is equal to its primary
        c = node.connect()
        state = info(c, "replication")
        if state["role"] == "slave":
            primary = Connection(int(state["master_port"]))
            wait_until(lambda: c("DEBUG DIGEST") == primary("DEBUG DIGEST"),
                       about="the replica has its primary's bytes")
            primary.close()
    client.close()


@test
def no_acknowledged_write_is_lost_when_a_primary_is_killed(s):
    cluster = Cluster(s, FAILOVER_MS)
    client = cluster.client()
    rng = s.random
    keys = [f"{prefix}:{{{tag}}}" for prefix in ("bf", "cf") for tag in range(12)]
    acknowledged = {key: [] for key in keys}

    def write(number):
        """Adds an item to each key; remembers it if WAIT says that the replica has it."""
        for key in keys:
            item = f"w{number}"
            if client(f"{key[:2].upper()}.ADD", key, item) in (0, 1):
                port = client.slots.get(Client.slot_of(key), client.ports[0])
                try:
                    reply = client.connection(port)("WAIT", 1, 200)
                    if isinstance(reply, int) and reply >= 1:  # an error if this node has become a replica
                        acknowledged[key].append(item)
                except (OSError, Lost):
                    client.drop(port)

    number = 0
    while min(map(len, acknowledged.values())) < 30:  # on a busy machine some need longer than WAIT does
        check(number < 300, "the replicas do not acknowledge writes")
        write(number)
        number += 1
    # The writer goes on while the primary of the middle slots dies in the middle of a round.
    killed = cluster.primaries[1]
    moment = rng.uniform(0.0, 0.05)
    killer = threading.Timer(moment, killed.kill)
    killer.start()
    replica, before = cluster.replicas[1], number
    r = replica.connect()
    # Each write waits for the failover, if it has to.
    while number < before + 2 or info(r, "replication")["role"] != "master":
        write(number)
        number += 1
    killer.join()
    check(not killed.alive())
    fresh = Client([node.port for node in cluster.nodes if node.alive()])
    total = 0
    for key in keys:
        found = fresh(f"{key[:2].upper()}.MEXISTS", key, *acknowledged[key])
        lost = [item for item, reply in zip(acknowledged[key], found) if reply != 1]
        check(not lost, f"{key}: {len(lost)} acknowledged writes are lost, such as {lost[:3]}")
        total += len(found)
    moved = [key for key in keys if SLOTS // 3 <= Client.slot_of(key) < SLOTS * 2 // 3]
    check(moved, "no key was on the killed primary")
    # The old primary comes back as a replica and gets its data again.
    killed.start()
    c = killed.connect()
    wait_until(lambda: info(c, "replication").get("master_link_status") == "up", about="the old primary is a replica")
    wait_until(lambda: c("DEBUG DIGEST") == replica.connect()("DEBUG DIGEST"),
               about="it has the bytes of the new primary")
    print(f"       {total} acknowledged writes, 0 lost, {len(moved)} keys on the killed primary")
    fresh.close()
    client.close()


@test
def commands_on_several_keys_need_one_slot(s):
    cluster = Cluster(s)
    client = cluster.client()
    equal(client("KITH.RESERVE", "a{1}", "blocked", "0.01", "1000"), OK)
    equal(client("KITH.RESERVE", "b{1}", "LIKE", "a{1}"), OK)
    client("KITH.MADD", "a{1}", "x")
    client("KITH.MADD", "b{1}", "y")
    equal(client("KITH.MERGE", "c{1}", "a{1}", "b{1}"), OK)
    equal(client("KITH.MEXISTS", "c{1}", "x", "y", "z"), [1, 1, 0])
    check(client("KITH.MERGE", "c{1}", "a{1}", "b{2}").startswith("CROSSSLOT"))
    # a{1} and d{2} are refused on every node, also where only one of them would be looked for.
    for node in cluster.nodes:
        c = node.connect()
        for like in ("LIKE", "like"):
            expect_error(c, ["KITH.RESERVE", "d{2}", like, "a{1}"], "CROSSSLOT")
        equal([word.decode() for word in c("COMMAND", "GETKEYS", "KITH.RESERVE", "d{2}", "LIKE", "a{1}")],
              ["d{2}", "a{1}"])
        equal([word.decode() for word in c("COMMAND", "GETKEYS", "KITH.RESERVE", "like", "bloom", "0.1", "9", "GROW")],
              ["like"])
    equal(client("EXISTS", "d{2}"), 0)
    client.close()


if __name__ == "__main__":
    main()
