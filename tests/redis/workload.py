"""Values of all shapes, and random commands on them, for the suites that compare servers or look for crashes."""

ITEMS = 4000


def item(rng):
    return b"item%d" % rng.randrange(ITEMS)


def items(rng, most=20):
    return [item(rng) for _ in range(rng.randrange(1, most))]


def populate(c, big=False):
    """Creates a key of every shape and returns their names. `big` adds one of several RDB chunks."""
    calls = [
        "BF.RESERVE bf:one 0.01 1000",
        "BF.RESERVE bf:low 0.000001 1000",
        "BF.RESERVE bf:grown 0.01 50 EXPANSION 2",
        "BF.RESERVE bf:slow 0.01 50 EXPANSION 1",
        "BF.RESERVE bf:fixed 0.01 500 NONSCALING",
        "BF.RESERVE bf:full 0.01 20 NONSCALING",
        "CF.RESERVE cf:one 1000",
        "CF.RESERVE cf:grown 50 EXPANSION 2",
        "CF.RESERVE cf:b1 500 BUCKETSIZE 1",
        "CF.RESERVE cf:b4 500 BUCKETSIZE 4 MAXITERATIONS 50",
        "CF.RESERVE cf:b8 500 BUCKETSIZE 100",
        "CF.RESERVE cf:full 40 EXPANSION 0",
        "CF.RESERVE cf:empty 100",
        "BF.RESERVE bf:empty 0.01 100",
        "BF.ADD bf:auto x",
        "CF.ADD cf:auto x",
    ]
    for reply, call in zip(c.many(calls), calls):
        assert not reply.startswith("ERR") if isinstance(reply, str) else True, (call, reply)
    batch = [b"item%d" % i for i in range(0, 600)]
    for key in ("bf:one", "bf:low", "bf:grown", "bf:slow", "bf:full", "bf:auto"):
        c("BF.MADD", key, *batch)
    c("BF.MADD", "bf:fixed", *batch[:400])
    for key in ("cf:one", "cf:grown", "cf:b1", "cf:b4", "cf:b8", "cf:full", "cf:auto"):
        c("CF.INSERT", key, "ITEMS", *batch[:400])
        for i in range(0, 100, 7):
            c("CF.DEL", key, batch[i])
    names = sorted({call.split()[1] for call in calls})
    if big:
        c("BF.RESERVE bf:big 0.001 10000000 NONSCALING")
        c("CF.RESERVE cf:big 16000000 EXPANSION 0")
        c("BF.MADD", "bf:big", *batch)
        c("CF.INSERT", "cf:big", "ITEMS", *batch)
        names += ["bf:big", "cf:big"]
    return names


def bf_command(rng, key):
    kind = rng.randrange(12)
    if kind < 3:
        return ["BF.ADD", key, item(rng)]
    if kind < 5:
        return ["BF.MADD", key, *items(rng)]
    if kind == 5:
        return ["BF.INSERT", key, "CAPACITY", rng.randrange(1, 300), "ERROR", rng.choice(["0.1", "0.001"]),
                "EXPANSION", rng.randrange(1, 5), "ITEMS", *items(rng)]
    if kind == 6:
        return ["BF.RESERVE", key, rng.choice(["0.1", "0.01", "0.0001"]), rng.randrange(1, 300),
                *rng.choice([[], ["NONSCALING"], ["EXPANSION", "3"]])]
    if kind == 7:
        return ["BF.MEXISTS", key, *items(rng)]
    if kind == 8:
        return ["BF.EXISTS", key, item(rng)]
    if kind == 9:
        return rng.choice([["BF.INFO", key], ["BF.CARD", key], ["MEMORY", "USAGE", key]])
    if kind == 10:
        return ["BF.SCANDUMP", key, rng.choice([0, 0, 1, 7, 1 << 40])]
    return ["BF.LOADCHUNK", key, rng.choice([1, 2, 1 << 16]), b"data%d" % rng.randrange(100)]


def cf_command(rng, key):
    kind = rng.randrange(14)
    if kind < 2:
        return ["CF.ADD", key, item(rng)]
    if kind == 2:
        return ["CF.ADDNX", key, item(rng)]
    if kind < 5:
        return [rng.choice(["CF.INSERT", "CF.INSERTNX"]), key, "ITEMS", *items(rng)]
    if kind == 5:
        return ["CF.INSERT", key, "CAPACITY", rng.randrange(8, 300), "ITEMS", *items(rng)]
    if kind == 6:
        return ["CF.RESERVE", key, rng.randrange(20, 300),
                *rng.choice([[], ["BUCKETSIZE", "4"], ["EXPANSION", "0"], ["BUCKETSIZE", "1", "EXPANSION", "2"]])]
    if kind < 9:
        return ["CF.DEL", key, item(rng)]
    if kind == 9:
        return ["CF.MEXISTS", key, *items(rng)]
    if kind == 10:
        return [rng.choice(["CF.EXISTS", "CF.COUNT"]), key, item(rng)]
    if kind == 11:
        return rng.choice([["CF.INFO", key], ["CF.COMPACT", key], ["MEMORY", "USAGE", key]])
    if kind == 12:
        return ["CF.SCANDUMP", key, rng.choice([0, 0, 1, 7, 1 << 40])]
    return ["CF.LOADCHUNK", key, rng.choice([1, 2, 1 << 16]), b"data%d" % rng.randrange(100)]


def kith_command(rng, key):
    kind = rng.randrange(9)
    if kind < 2:
        return ["KITH.MADD", key, *items(rng)]
    if kind == 2:
        return ["KITH.DEL", key, item(rng)]
    if kind == 3:
        return ["KITH.MEXISTS", key, *items(rng)]
    if kind == 4:
        return ["KITH.STATS", key]
    if kind == 5:
        return ["KITH.DUMP", key, 0]
    if kind == 6:
        return ["KITH.COUNT", key, item(rng)]
    return ["KITH.RESERVE", key, rng.choice(["bloom", "blocked", "cuckoo", "counting", "overlap", "blocked_counting"]),
            "0.01", rng.randrange(50, 500), *rng.choice([[], ["GROW"]])]


def random_command(rng, bf_keys, cf_keys, kith_keys=()):
    """A random command, mostly on filters; sometimes one of the server on a key that holds a filter."""
    if rng.randrange(40) == 0:
        key, other = rng.choice(bf_keys), rng.choice(bf_keys)
        if rng.randrange(2):
            key, other = rng.choice(cf_keys), rng.choice(cf_keys)
        return rng.choice([["DEL", key], ["UNLINK", key], ["COPY", key, other, "REPLACE"], ["RENAME", key, other],
                           ["DUMP", key], ["PERSIST", key]])
    if kith_keys and rng.randrange(4) == 0:
        return kith_command(rng, rng.choice(kith_keys))
    return bf_command(rng, rng.choice(bf_keys)) if rng.randrange(2) else cf_command(rng, rng.choice(cf_keys))
