#!/usr/bin/env python3
"""Compares two runs of the filter benchmark row by row: compare.py OLD.json NEW.json

A row is marked slower if its fastest new round is slower than its slowest old round, and faster in the opposite case.
If nothing has changed, this still happens at random to 2 in C(a + b, a) rows with a and b rounds; the last line says
how many rows that is. "limit" is the ratio new / old of the machine's limit for the row. If it changed like the row,
the machine changed and not the filter.

Exit status: 0 compared, 2 a file cannot be read.
"""
import json
import sys
from math import comb

NAMES = ("who", "name", "n", "rate", "op", "threads", "pages")


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            run = json.load(file)
        if run["bench"] != 1:
            raise ValueError("written by another version of the benchmark")
        return run, {tuple(row[name] for name in NAMES): row for row in run["results"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"compare: {path}: {error}", file=sys.stderr)
        sys.exit(2)


def verdict(old, new):
    if new["least"] > old["most"]:
        return "slower"
    if new["most"] < old["least"]:
        return "faster"
    return ""


def label(row):
    who = {"kith": row["name"], "limit": f"limit {row['name']}".strip()}.get(row["who"], row["who"])
    rate = f" {row['rate'] * 100:g}%" if row["rate"] else ""
    pages = f", {row['pages']} pages" if row["pages"] else ""
    return f"{who}{rate}", f"{row['op']}{pages}"


def facts(old_run, new_run):
    """Yields a line for each size or rate that differs. These have no noise."""
    def table(run):
        return {(f["who"], f["name"], f["n"], f["rate"]): f for f in run["filters"]}

    old, new = table(old_run), table(new_run)
    exact = ("bytes", "measured_rate") if old_run["most_asks"] == new_run["most_asks"] else ("bytes",)
    for key in sorted(old.keys() & new.keys()):
        for what in exact:
            if old[key][what] != new[key][what]:
                yield f"{key[1] or key[0]} of {key[2]} keys: {what} {old[key][what]:g} -> {new[key][what]:g}"


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    (old_run, old), (new_run, new) = read(sys.argv[1]), read(sys.argv[2])
    if old_run["machine"] != new_run["machine"]:
        print("compare: the machines differ, so only the ratios to the limits can be compared", file=sys.stderr)
    if old_run["clock"] != new_run["clock"]:
        print("compare: one run has wall times, the other CPU times", file=sys.stderr)

    print(f"{'':16} {'':28} {'keys':>10} {'th':>2} {'old ns':>8} {'+-':>5} {'new ns':>8} {'+-':>5} {'ratio':>6} "
          f"{'limit':>6}")
    changes, expected = 0, 0.0
    for key, row in new.items():
        before = old.get(key)
        if before is None:
            continue
        who, op = label(row)
        limit = ""
        if "limit_ns" in row and "limit_ns" in before:
            limit = f"{row['limit_ns'] / before['limit_ns']:.2f}"
        mark = verdict(before, row)
        changes += mark != ""
        a, b = len(before["rounds"]), len(row["rounds"])
        expected += 2 / comb(a + b, a)
        print(f"{who:16} {op:28} {row['n']:>10} {row['threads']:>2} {before['ns']:8.1f} {before['spread']:5.0%} "
              f"{row['ns']:8.1f} {row['spread']:5.0%} {row['ns'] / before['ns']:6.2f} {limit:>6} {mark}".rstrip())
    for line in facts(old_run, new_run):
        changes += 1
        print(line)
    print(f"{len(new.keys() & old.keys())} rows compared, {changes} changed beyond their spread "
          f"({expected:.1f} expected at random); {len(old.keys() - new.keys())} only in the old run, "
          f"{len(new.keys() - old.keys())} only in the new one")


if __name__ == "__main__":
    main()
