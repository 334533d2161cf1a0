#!/usr/bin/python3
"""fixtures.py: writes the files in tests/redis/fixtures with the help of a server that has RedisBloom loaded.

    fixtures.py REDISBLOOM.so FOLDER

It is not part of the tests, which only read the files. FOLDER/README.md describes them."""
import os, random, shutil, struct, subprocess, sys, tempfile, time

import redis

PRESENT, ABSENT = "i%d", "n%d"
LOOKUPS = 30000  # absent items that are looked up to find false positives
SHOWN = 40       # of each sort of item that a list shows


def bloom(rate, capacity, expansion, items):
    """expansion 0: NONSCALING"""
    word = ["NONSCALING"] if expansion == 0 else ["EXPANSION", expansion]
    yield ["BF.RESERVE", "KEY", rate, capacity] + word
    for start in range(0, items, 100):
        yield ["BF.MADD", "KEY"] + [PRESENT % i for i in range(start, min(items, start + 100))]


def old_bloom(items):
    """A filter as RedisBloom made them long ago: 32-bit hashes and a number of bits that is a power of two. Such
    filters are still loaded, and grow in the same way."""
    header = struct.pack("<QIII", 0, 1, 0, 2) + struct.pack("<QQQddIQB", 256, 2048, 0, 0.005, 11.027753418256411, 8,
                                                            185, 11)
    yield ["BF.LOADCHUNK", "KEY", 1, "hex:" + header.hex()]
    yield ["BF.LOADCHUNK", "KEY", 257, "hex:" + bytes(256).hex()]
    for start in range(0, items, 100):
        yield ["BF.MADD", "KEY"] + [PRESENT % i for i in range(start, min(items, start + 100))]


def cuckoo(capacity, bucket_size, iterations, expansion, items, removed=0, again=(), compact=False):
    yield ["CF.RESERVE", "KEY", capacity, "BUCKETSIZE", bucket_size, "MAXITERATIONS", iterations, "EXPANSION",
           expansion]
    for start in range(0, items, 100):
        yield ["CF.INSERT", "KEY", "ITEMS"] + [PRESENT % i for i in range(start, min(items, start + 100))]
    for i in again:
        yield ["CF.ADD", "KEY", PRESENT % i]
        yield ["CF.ADDNX", "KEY", PRESENT % i]
    for i in random.Random(removed).sample(range(items), removed):
        yield ["CF.DEL", "KEY", PRESENT % i]
    if compact:
        yield ["CF.COMPACT", "KEY"]


ITEMS = [PRESENT % i for i in range(200)]
# RedisBloom takes words that only begin like an option, and ignores others. Clients of kith get errors for them, but
# what is in an append-only file, or comes from a primary, was carried out before.
FILTERS = {
    "bf-default": [["BF.MADD", "KEY"] + [PRESENT % i for i in range(60)]],
    "bf-expansion1": bloom(0.02, 300, 1, 1700),
    "bf-expansion2": bloom(0.01, 200, 2, 2500),
    "bf-expansion4": bloom(0.001, 50, 4, 3000),
    "bf-nonscaling": bloom(0.03, 1000, 0, 1010),
    "bf-zero": [["BF.RESERVE", "KEY", 0.01, 100, "EXPANSION", 0], ["BF.MADD", "KEY"] + ITEMS[:90]],
    "bf-loose-reserve": [["BF.RESERVE", "KEY", 0.01, 100, "FOO", "EXPANSION", 3], ["BF.MADD", "KEY"] + ITEMS],
    "bf-loose-insert": [["BF.INSERT", "KEY", "EXP", 4, "cap", 30, "ER", 0.02, "IGLOO"] + ITEMS],
    "bf-loose-letters": [["BF.INSERT", "KEY", "N", "c", 500, "i"] + ITEMS],
    "bf-loose-scaling": [["BF.INSERT", "KEY", "EXPANSION", 4, "NONSCALING", "CAPACITY", 300, "ITEMS"] + ITEMS,
                         ["BF.INSERT", "KEY", "noc", "ITEMS", "one", "two"]],
    "bf-old": old_bloom(1500),
    "bf-empty": bloom(0.001, 1000, 2, 0),
    "cf-default": [["CF.INSERT", "KEY", "ITEMS"] + [PRESENT % i for i in range(300)]],
    "cf-bucket1": cuckoo(256, 1, 20, 2, 1500),
    "cf-bucket2": cuckoo(500, 2, 20, 2, 2000, removed=60),
    "cf-bucket4": cuckoo(600, 4, 30, 1, 2600, removed=150, again=range(5)),
    "cf-compacted": cuckoo(400, 3, 10, 1, 1300, removed=700, compact=True),
    "cf-loose-reserve": [["CF.RESERVE", "KEY", 100, "FOO", 3, "BUCKETSIZE", 3, "BUCKETSIZE", 4],
                         ["CF.INSERT", "KEY", "ITEMS"] + ITEMS],
    "cf-loose-insert": [["CF.INSERT", "KEY", "C", 100, "I"] + ITEMS,
                        ["CF.INSERTNX", "KEY", "nope", "IT", "one", "two"]],
    "cf-holes": cuckoo(300, 2, 20, 1, 2000, removed=150, compact=True),
    "cf-full": cuckoo(64, 2, 50, 0, 70, removed=3),
    "cf-empty": cuckoo(64, 2, 20, 1, 0),
}


class Server:
    def __init__(self, module):
        self.folder = tempfile.mkdtemp()
        port = random.randint(20001, 60000)
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", self.folder, "--save", "",
             "--appendonly", "yes", "--aof-use-rdb-preamble", "no", "--loadmodule", module], stdout=subprocess.DEVNULL)
        self.r = redis.Redis(port=port)
        for _ in range(100):
            try:
                self.r.ping()
                return
            except redis.ConnectionError:
                time.sleep(0.1)
        sys.exit("the server does not start")

    def stop(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder)

    def find(self, end):
        folder = os.path.join(self.folder, "appendonlydir")
        [name] = [n for n in os.listdir(folder) if n.endswith(end)]
        return os.path.join(folder, name)

    def wait_for_child(self):
        while any(self.r.info("persistence")[x] for x in ("aof_rewrite_in_progress", "rdb_bgsave_in_progress",
                                                          "aof_rewrite_scheduled")):
            time.sleep(0.1)


def chunks(r, prefix, key):
    """u64 cursor, u64 length, bytes: for each reply of SCANDUMP"""
    cursor, out = 0, b""
    while True:
        cursor, data = r.execute_command(prefix + ".SCANDUMP", key, cursor)
        if cursor == 0:
            return out
        out += struct.pack("<QQ", cursor, len(data)) + data


def item_list(r, prefix, key, operations):
    def found(items):
        return r.execute_command(prefix + ".MEXISTS", key, *items)

    added, removed = [], set()
    for words, reply in operations:
        name = words[0]
        if name in ("BF.MADD", "BF.INSERT", "CF.INSERT", "CF.INSERTNX"):
            first = 2 if name == "BF.MADD" else 1 + [str(word)[0] in "iI" for word in words].index(True)
            items = words[first:]
            # BF.MADD of a full filter ends with an error, CF.INSERT has -1 for items that were not added.
            replies = [isinstance(one, int) and one >= 0 for one in reply] + [False] * len(items)
            added += [i for i, accepted in zip(items, replies) if accepted]
            removed |= {i for i, accepted in zip(items, replies) if not accepted}
        elif name == "CF.DEL":
            removed.add(words[2])
    lines = []
    kept = [i for i in added if i not in removed]
    assert all(found(kept)) if kept else True
    absent = sorted(removed) + [ABSENT % i for i in range(LOOKUPS)]
    replies = found(absent)
    for word, value in ("false", 1), ("absent", 0):
        lines += ["%s %s" % (word, i) for i, reply in zip(absent, replies) if reply == value][:SHOWN]
    # The first items are in the oldest level, the last ones in the newest.
    shown = kept[:SHOWN] + kept[-SHOWN:] if len(kept) > 2 * SHOWN else kept
    lines += ["present %s" % i for i in shown]
    if prefix == "CF":
        lines += ["copies %d %s" % (r.execute_command("CF.COUNT", key, i), i) for i in shown[:20]]
    info = r.execute_command(prefix + ".INFO", key)
    lines += ["info %s=%s" % (n.decode(), v) for n, v in zip(info[::2], info[1::2])]
    return "\n".join(lines) + "\n"


def argument(word, key):
    if word == "KEY":
        return key
    return bytes.fromhex(word[4:]) if str(word).startswith("hex:") else word


def main(module, folder):
    server = Server(module)
    r = server.r
    r.config_set("rdbcompression", "no")
    def write(name, content):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())

    for key, filters in FILTERS.items():
        prefix = key[:2].upper()
        operations = [(words, r.execute_command(*[argument(word, key) for word in words])) for words in filters]
        write(key + ".operations", "".join(" ".join(str(word) for word in words) + "\n" for words, _ in operations))
        write(key + ".items", item_list(r, prefix, key, operations))
        write(key + ".dump", r.dump(key))
        write(key + ".chunks", chunks(r, prefix, key))
    shutil.copy(server.find(".incr.aof"), os.path.join(folder, "commands.aof"))
    r.bgrewriteaof()
    server.wait_for_child()
    shutil.copy(server.find(".base.aof"), os.path.join(folder, "rewritten.aof"))
    r.config_set("rdbcompression", "yes")
    r.save()
    shutil.copy(os.path.join(server.folder, "dump.rdb"), os.path.join(folder, "redisbloom.rdb"))
    server.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
