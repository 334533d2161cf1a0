#!/usr/bin/python3
"""Measures the module in redis-server on the loopback interface: redis.py KITH.SO KITH [OPTION…]

Each figure is the median of several rounds; within a round all commands run one after the other, so that other load on
the machine affects all of them. Speeds are requests per second of redis-benchmark with 50 clients. In brackets: the
smallest and the largest of the rounds, and what the module promises. The exit status is 1 if a promise is not kept.
"""
import argparse
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "redis"))
from server import Server, find_program, info  # noqa: E402

RATE = 0.01
broken = []


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], add_help=True)
    parser.add_argument("module")
    parser.add_argument("tool")
    parser.add_argument("--server", choices=["redis", "valkey"], default="redis", help="which server to start")
    parser.add_argument("--rounds", type=int, default=5, help="rounds per figure (default: 5)")
    parser.add_argument("--requests", type=float, default=1e6, help="requests of a run with pipeline 64 (default: 1e6)")
    parser.add_argument("--keys", default="1e6,1e8", help="sizes of the filters (default: 1e6,1e8)")
    parser.add_argument("--grow-to", type=float, default=1e8,
                        help="keys to which a filter grows from 1e6 (default: 1e8; 0: none)")
    parser.add_argument("--huge-pages", action="store_true", help="load the module with huge-pages-from 32mb")
    parser.add_argument("--json", help="also write all figures to this file")
    return parser.parse_args()


def number(value):
    return f"{value:.0e}".replace("+0", "").replace("+", "") if value >= 1e5 else f"{value:g}"


class Bench:
    def __init__(self, options):
        self.options = options
        self.server = Server(options.server, os.path.abspath(options.module))
        if options.huge_pages:
            self.server.module_args = ["huge-pages-from", "32mb"]
        self.server.start()
        self.c = self.server.connect()
        self.figures = {}

    def call(self, *args):
        reply = self.c(*args)
        if isinstance(reply, str) and not isinstance(reply, bytes) and reply.startswith(("ERR", "WRONGTYPE")):
            sys.exit(f"bench: {args}: {reply}")
        return reply

    def run(self, command, pipeline, requests, keyspace):
        """Requests per second, and the largest latency in milliseconds that the client saw."""
        args = [find_program(self.options.server, "benchmark"), "-p", str(self.server.port), "-c", "50",
                "-P", str(pipeline), "-n", str(int(requests)), "-r", str(int(keyspace)), "--csv", *command.split()]
        done = subprocess.run(args, capture_output=True, text=True)
        rows = [line for line in done.stdout.splitlines() if line.startswith('"')]
        if done.returncode or len(rows) < 2:
            sys.exit(f"bench: {' '.join(args)}: {done.stdout[-300:]}{done.stderr[-300:]}")
        values = re.findall(r'"([^"]*)"', rows[-1])
        return float(values[-7]), float(values[-1])

    def rounds(self, commands, pipeline, requests, keyspace):
        """Runs all commands in turn, several times. Returns lists of speeds by name."""
        speeds = {name: [] for name in commands}
        for _ in range(self.options.rounds):
            for name, command in commands.items():
                speeds[name].append(self.run(command, pipeline, requests, keyspace)[0])
        return speeds

    def show(self, label, speeds, name, ratios=()):
        middle, least_speed, most_speed = statistics.median(speeds[name]), min(speeds[name]), max(speeds[name])
        text = f"  {name:<22} {middle / 1e3:9.0f} k/s  [{least_speed / 1e3:.0f} … {most_speed / 1e3:.0f}]"
        self.figures[f"{label} {name}"] = {"median": middle, "rounds": speeds[name]}
        for other, least in ratios:
            ratio = statistics.median(a / b for a, b in zip(speeds[name], speeds[other]))
            promise = f" [at least {least}]" if least else ""
            verdict = "" if not least or ratio >= least else " NOT KEPT"
            text += f"   {ratio:.2f} × {other}{promise}{verdict}"
            self.figures[f"{label} {name} / {other}"] = {"median": ratio, "least": least}
            if verdict:
                broken.append(f"{label}: {name} is {ratio:.2f} × {other}, not {least}")
        print(text, flush=True)


def fields(b, prefix, key):
    values = b.call(f"{prefix}.INFO", key)
    return dict(zip(map(str, values[0::2]), values[1::2]))


def held(b, prefix, key):
    return fields(b, prefix, key)["Number of items inserted"]


def measure_speed(b, keys):
    label = f"{number(keys)} keys"
    b.call("FLUSHALL")
    b.call("SET", "fixed", "value")
    b.call("BF.RESERVE", "bf", RATE, int(keys))
    b.call("CF.RESERVE", "cf", int(keys))
    commands = {
        "PING": "PING", "GET": "GET fixed", "SET": "SET fixed value", "BF.ADD": "BF.ADD bf __rand_int__",
        "BF.EXISTS": "BF.EXISTS bf __rand_int__", "CF.ADD": "CF.ADD cf __rand_int__",
        "CF.EXISTS": "CF.EXISTS cf __rand_int__",
    }
    # Items are drawn from a hundred times as many numbers as the filter is for, so that none is added more often than
    # CF.ADD takes (four times), and there are few enough requests that the filters do not grow.
    keyspace = min(keys * 100, 2**31 - 1)
    requests = min(b.options.requests, keys / (b.options.rounds + 1) / 1.2)
    print(f"filters reserved for {number(keys)} keys, pipeline 64, {number(requests)} requests per run")
    for name in commands:  # once without measuring: the system maps the pages of new memory when they are first used
        b.run(commands[name], 64, requests, keyspace)
    speeds = b.rounds(commands, 64, requests, keyspace)
    for name in ("PING", "GET", "SET"):
        b.show(f"{label}, pipeline 64", speeds, name)
    for name in ("BF.EXISTS", "CF.EXISTS"):
        b.show(f"{label}, pipeline 64", speeds, name, [("GET", 0.65), ("PING", 0.45)])
    for name in ("BF.ADD", "CF.ADD"):
        b.show(f"{label}, pipeline 64", speeds, name, [("SET", 0.6)])

    print("  the same with pipeline 1; BF.MEXISTS has 100 items")
    commands["BF.MEXISTS"] = "BF.MEXISTS bf" + " __rand_int__" * 100
    speeds = b.rounds(commands, 1, requests / 10, keyspace)
    for name in ("PING", "GET", "SET"):
        b.show(f"{label}, pipeline 1", speeds, name)
    for name, others in (("BF.EXISTS", ("GET", "PING")), ("CF.EXISTS", ("GET", "PING")), ("BF.ADD", ("SET",)),
                         ("CF.ADD", ("SET",))):
        b.show(f"{label}, pipeline 1", speeds, name, [(other, None) for other in others])
    speeds["items of BF.MEXISTS"] = [100 * speed for speed in speeds["BF.MEXISTS"]]
    b.show(f"{label}, pipeline 1", speeds, "items of BF.MEXISTS", [("BF.EXISTS", 5)])
    print(f"  the filters hold {held(b, 'BF', 'bf')} and {held(b, 'CF', 'cf')} items at the end")


def plan(b, keys, kind, *needs):
    text = subprocess.run([b.options.tool, "plan", "-n", str(int(keys)), "-p", str(RATE), "--json", *needs], check=True,
                          capture_output=True, text=True).stdout
    rows = [row for row in json.loads(text)["kinds"] if row["kind"] == kind]
    return next((row for row in rows if row["recommended"]), rows[0])["file_bytes"]  # there may be several of layers


def measure_memory(b, keys):
    """MEMORY USAGE of filters, beside kith plan and beside what RedisBloom computes for the same rate."""
    print(f"memory for {number(keys)} keys at a rate of {RATE:.0%}")
    bits = -math.log(RATE) / math.log(2) ** 2
    first_level = -math.log(RATE / 2) / math.log(2) ** 2
    buckets = 1 << max(0, math.ceil(math.log2(keys / 2)))
    cuckoo = f"{buckets * 2 * 8 / keys:.2f}, at a rate of 1.6%"
    for name, call, needs, redisbloom in (
            ("BF, fixed size", ["BF.RESERVE", "k", RATE, int(keys), "NONSCALING"], [], f"{bits:.2f}"),
            ("BF, growing", ["BF.RESERVE", "k", RATE, int(keys)], ["--grow"], f"{first_level:.2f}"),
            ("CF, fixed size", ["CF.RESERVE", "k", int(keys), "EXPANSION", "0"], ["--delete"], cuckoo),
            ("CF, growing", ["CF.RESERVE", "k", int(keys)], ["--grow", "--delete"], cuckoo)):
        b.call("DEL", "k")
        b.call(*call)
        stats = b.call("KITH.STATS", "k")
        kind, used = stats[1].decode(), b.call("MEMORY", "USAGE", "k")
        planned = plan(b, keys, kind, *needs)
        off = used / planned - 1
        verdict = "" if abs(off) <= 0.02 else " NOT KEPT"
        if verdict:
            broken.append(f"MEMORY USAGE of {name} for {number(keys)} keys is off by {off:.1%}")
        print(f"  {name:<16} {used:>12} bytes, {off:+.2%} of kith plan for {kind} [within 2%]{verdict}, "
              f"{used * 8 / keys:.2f} bits per key; RedisBloom {redisbloom}", flush=True)
        b.figures[f"memory {number(keys)} {name}"] = {"bytes": used, "planned": planned,
                                                      "bits_per_key": used * 8 / keys}
    b.call("DEL", "k")


def measure_growth(b, prefix, add, reserve):
    """Adds keys one by one until a filter for 1e6 keys holds grow_to. The server logs each command that takes long."""
    target = b.options.grow_to
    b.call("FLUSHALL")
    b.call(*reserve)
    b.call("CONFIG", "SET", "slowlog-max-len", "100000")
    b.call("CONFIG", "SET", "slowlog-log-slower-than", "200")
    b.call("SLOWLOG", "RESET")
    start, added, client = time.monotonic(), 0, 0.0
    while added < target:
        requests = max(10000, min(1e7, (target - added) * 1.03))
        client = max(client, b.run(add, 16, requests, 2**31 - 1)[1])
        added = held(b, prefix, "g")
    slow = [entry[2] for entry in b.call("SLOWLOG", "GET", "-1") if entry[3][0].decode().upper().startswith(prefix)]
    b.call("CONFIG", "SET", "slowlog-log-slower-than", "10000")
    used = b.call("MEMORY", "USAGE", "g")
    pause = max(slow, default=0) / 1000
    layers, seconds = fields(b, prefix, "g")["Number of filters"], time.monotonic() - start
    print(f"{prefix}: grew from 1e6 to {added} keys in {seconds:.0f} s, {layers} layers")
    longest = f"{pause:.1f} ms" if slow else "under 0.2 ms"
    print(f"  longest single add on the server: {longest}; "
          f"longest wait of a client (50 clients, pipeline 16): {client:.1f} ms")
    print(f"  {used * 8 / added:.2f} bits per key that the filter holds", flush=True)
    b.figures[f"growth {prefix}"] = {"keys": added, "longest_add_ms": pause, "client_ms": client,
                                     "bits_per_key": used * 8 / added,
                                     "adds_over_200_us": len(slow)}


def main():
    options = parse_arguments()
    if not find_program(options.server, "server"):
        sys.exit(f"bench: {options.server}-server is not installed")
    b = Bench(options)
    try:
        version = info(b.c, "server")
        number_of_version = version.get("valkey_version", version["redis_version"])
        print(f"{options.server} {number_of_version}, {os.cpu_count()} processors")
        for keys in [float(word) for word in options.keys.split(",")]:
            measure_speed(b, keys)
            b.call("FLUSHALL")
            measure_memory(b, keys)
        if options.grow_to:
            measure_growth(b, "BF", "BF.ADD g __rand_int__", ["BF.RESERVE", "g", RATE, 1000000])
            measure_growth(b, "CF", "CF.ADDNX g __rand_int__", ["CF.RESERVE", "g", 1000000])
    finally:
        b.server.remove()
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(b.figures, indent=1) + "\n")
    for line in broken:
        print(f"bench: {line}", file=sys.stderr)
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
