#!/usr/bin/python3
"""Client libraries that know nothing of kith: redis-cli, the npm package redis (RESP2 and RESP3), and python3-redis."""
import os
import shutil
import subprocess

import redis

from server import ROOT, check, equal, find_program, main, test


def run_node(s, protocol):
    modules = ROOT / "build" / "node" / "node_modules"
    if not shutil.which("node") or not (modules / "redis").is_dir():
        print("left out: the npm package redis is not installed (tests/redis/setup.sh fetches it)")
        return
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "clients.js")
    done = subprocess.run(["node", script, str(s.server.port), str(protocol)], capture_output=True, text=True,
                          env=dict(os.environ, NODE_PATH=str(modules)), timeout=120)
    check(done.returncode == 0, done.stdout + done.stderr)


@test
def node_redis_in_resp2(s):
    run_node(s, 2)


@test
def node_redis_in_resp3(s):
    run_node(s, 3)


def copy_in_chunks(commands, source, target):
    cursor, chunks = 0, 0
    while True:
        cursor, data = commands.scandump(source, cursor)
        if cursor == 0:
            return chunks
        check(commands.loadchunk(target, cursor, data), "LOADCHUNK")
        chunks += 1


@test
def python_bf(s):
    bf = redis.Redis("127.0.0.1", port=s.server.port).bf()
    check(bf.create("b", 0.01, 1000, expansion=4))
    check(bf.create("fixed", 0.01, 3, noScale=True))
    equal(bf.add("b", "x"), 1)
    equal(bf.add("b", "x"), 0)
    equal(bf.madd("b", "x", "y"), [0, 1])
    equal(bf.insert("b", ["y", "z"]), [0, 1])
    # This client sends NOCREATE and NONSCALING whenever the argument is not None.
    equal(bf.insert("b", ["y"], noCreate=False), [0])
    equal(bf.insert("other", ["y"], capacity=50, error=0.001, expansion=3), [1])
    equal(bf.insert("third", ["y"], capacity=50, error=0.001, noScale=True), [1])
    equal(bf.exists("b", "z"), 1)
    equal(bf.mexists("b", "x", "nothing"), [1, 0])
    info = bf.info("b")
    equal([info.capacity, info.filterNum, info.insertedNum, info.expansionRate], [1000, 1, 3, 4])
    check(info.size > 0)
    equal(bf.info("fixed").expansionRate, None)
    for call, text in ((lambda: bf.create("b", 0.01, 1000), "item exists"),
                       (lambda: bf.insert("none", ["x"], noCreate=True), "not found"),
                       (lambda: bf.info("none"), "not found")):
        try:
            call()
        except redis.ResponseError as e:
            check(text in str(e), str(e))
        else:
            check(False, f"no error {text!r}")
    check(copy_in_chunks(bf, "b", "b2") >= 1)
    equal(bf.mexists("b2", "x", "y", "z", "nothing"), [1, 1, 1, 0])


@test
def python_cf(s):
    cf = redis.Redis("127.0.0.1", port=s.server.port).cf()
    check(cf.create("c", 1000000, expansion=2, bucket_size=4, max_iterations=30))
    equal(cf.add("c", "x"), 1)
    equal(cf.addnx("c", "x"), 0)
    equal(cf.addnx("c", "y"), 1)
    equal(cf.insert("c", ["x", "z"]), [1, 1])
    equal(cf.insertnx("c", ["x", "w"], nocreate=True), [0, 1])
    equal(cf.insert("other", ["y"], capacity=500), [1])
    equal(cf.count("c", "x"), 2)
    equal(cf.exists("c", "y"), 1)
    equal(cf.mexists("c", "y", "nothing"), [1, 0])
    equal(cf.delete("c", "x"), 1)
    equal(cf.delete("c", "nothing"), 0)
    info = cf.info("c")
    equal([info.filterNum, info.insertedNum, info.deletedNum, info.bucketSize, info.expansionRate, info.maxIteration],
          [1, 4, 1, 4, 2, 30])
    check(info.size > 0 and info.bucketNum > 0)
    check(copy_in_chunks(cf, "c", "c2") >= 1)
    equal(cf.mexists("c2", "x", "y", "z", "w", "nothing"), [1, 1, 1, 1, 0])


@test
def python_pipelines(s):
    pipe = redis.Redis("127.0.0.1", port=s.server.port).pipeline()
    pipe.execute_command("BF.RESERVE", "p", 0.01, 100)
    for item in "abca":
        pipe.execute_command("BF.ADD", "p", item)
    equal(pipe.execute()[1:], [1, 1, 1, 0])


def cli(s, *args, data=None):
    """What redis-cli prints, without the last newline. `data` becomes the last argument."""
    command = [find_program(s.kind, "cli"), "-p", str(s.server.port), *(["-x"] if data is not None else []), *args]
    output = subprocess.run(command, input=data, capture_output=True, timeout=60, check=True).stdout
    return output[:-1] if output.endswith(b"\n") else output


@test
def redis_cli_sends_every_command(s):
    for call, want in (
            ("BF.RESERVE b 0.01 1000", "OK"), ("BF.ADD b x", "1"), ("BF.MADD b x y", "0\n1"),
            ("BF.INSERT b ITEMS z x", "1\n0"),
            ("BF.EXISTS b z", "1"), ("BF.MEXISTS b z nothing", "1\n0"), ("BF.CARD b", "3"), ("BF.INFO b ITEMS", "3"),
            ("CF.RESERVE c 1000000", "OK"), ("CF.ADD c x", "1"), ("CF.ADDNX c x", "0"),
            ("CF.INSERT c ITEMS x y", "1\n1"),
            ("CF.INSERTNX c ITEMS y z", "0\n1"), ("CF.EXISTS c z", "1"), ("CF.MEXISTS c z nothing", "1\n0"),
            ("CF.COUNT c x", "2"),
            ("CF.DEL c x", "1"), ("CF.COMPACT c", "OK"),
            ("KITH.RESERVE k blocked 0.01 1000", "OK"), ("KITH.RESERVE l LIKE k", "OK"), ("KITH.ADD k x", "1"),
            ("KITH.MADD l x y", "1\n1"), ("KITH.EXISTS k x", "1"), ("KITH.MEXISTS k x y", "1\n0"),
            ("KITH.MERGE m k l", "OK"),
            ("KITH.INTERSECT i k l", "OK"), ("KITH.COUNT c y", "1"), ("KITH.DEL c y", "1"),
            ("EVAL return{redis.call('BF.EXISTS',KEYS[1],ARGV[1])} 1 b x", "1"),
            ("-3 BF.EXISTS b x", "(true)"), ("-3 CF.DEL c nothing", "(false)"),
            ("--no-raw BF.INFO b ITEMS", "1) (integer) 3")):
        equal(cli(s, *call.split()).decode(), want, call)
    check(cli(s, "BF.RESERVE", "b", "0.01", "1000").startswith(b"ERR item exists"))
    check(b"Number of items deleted\n2\n" in cli(s, "CF.INFO", "c"))
    check(b"kind\nblocked\n" in cli(s, "KITH.STATS", "k"))
    for prefix, key in (("BF", "b"), ("CF", "c")):
        cursor = "0"
        while True:
            next_cursor, data = cli(s, f"{prefix}.SCANDUMP", key, cursor).split(b"\n", 1)
            cursor = next_cursor.decode()
            if cursor == "0":
                break
            equal(cli(s, f"{prefix}.LOADCHUNK", key + "2", cursor, data=data), b"OK")
        equal(cli(s, "DEBUG", "DIGEST-VALUE", key), cli(s, "DEBUG", "DIGEST-VALUE", key + "2"))
    following, total, data = cli(s, "KITH.DUMP", "k", "0").split(b"\n", 2)
    equal([following, int(total)], [b"0", len(data)])
    equal(cli(s, "KITH.LOAD", "k2", "0", total.decode(), data=data), total)


if __name__ == "__main__":
    main()
