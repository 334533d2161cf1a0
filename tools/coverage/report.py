#!/usr/bin/env python3
"""Prints which branches of the library the tests have taken, and compares those not taken with a list.

usage: report.py BUILD [--list FILE] [--missing PREFIX]

BUILD is the build folder of the preset `coverage`, after its tests have run. `gcov` reads what they left there.

A branch is one outcome of one condition: `if (a && b)` has four. gcc compiles this preset so that each branch of the
source is counted once, in the order in which gcov numbers them, and without asserts (see KITH_COVERAGE in
CMakeLists.txt). A function in a header is compiled into several files; a branch of it counts as taken if any of these
has taken it.

The goals: 95% of all branches of src/, and every branch of the parts in PARTS, except those that FILE (by default
unreached.txt next to this script) lists with a reason. The exit status is 1 if a goal is missed, if a branch of these
parts is neither taken nor in the list, or if one in the list was taken or does not exist.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OVERALL_GOAL = 95.0
ALL = "all"

# The parts in which every branch counts: how the names of their files begin, and functions in these files.
PARTS = {
    "planner": [("src/plan/", r".*")],
    "validator": [
        (r"src/format/(format|head|notes|read)\.", r".*"),
        (r"src/handle\.c", r"kithi_filter_(bind|check|verify)"),
        (r"src/verbs\.c", r"kithi_check"),
        (r"src/(kinds|layers)/", r"(kithi_\w+_)?(shape|check|check_shard|check_stash|verify|attach)"),
        (r"src/table_file\.c", r"verify_file|read_head|open_image|open_entries|entry_read|leb_read|put_entries"),
        (r"src/tables/cuckoo\.c", r"check|attach"),  # the kind that is saved as it is in memory
    ],
    "journal": [(r"src/file/(journal|load)\.c", r".*")],
}

# Code that runs only on processors with this flag in /proc/cpuinfo. Elsewhere it is not counted. (tests/simd tests it
# on any processor, but not as it is compiled into the library.)
PROCESSORS = {"src/kernels/avx2": "avx2", "src/kernels/avx512": "avx512bw"}


class Line:
    """The branches of one line of source: how often each was taken, in all compiled copies together."""

    def __init__(self):
        self.counts = {}  # number of branches -> how often each was taken

    def add(self, counts):
        old = self.counts.setdefault(len(counts), [0] * len(counts))
        self.counts[len(counts)] = [a + b for a, b in zip(old, counts)]

    def branches(self):
        # Copies may differ where the preprocessor or a constant removes a condition. The fullest copy has all of them.
        return self.counts[max(self.counts)] if self.counts else []


def read_counts(build):
    """Returns {file: {line number: Line}} and {file: [(first line, last line, function)]}."""
    notes = []
    for folder, _, names in os.walk(os.path.join(build, "CMakeFiles", "kith_objects.dir")):
        notes += [os.path.join(folder, name) for name in names if name.endswith(".gcno")]
    if not notes:
        sys.exit(f"coverage: {build} has no .gcno files: build the preset `coverage` first")
    lines = collections.defaultdict(lambda: collections.defaultdict(Line))
    functions = collections.defaultdict(set)
    for note in sorted(notes):
        gcov = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", note],
                              cwd=build, capture_output=True, check=False)
        if gcov.returncode != 0:
            sys.exit(f"coverage: gcov cannot read {note}: {gcov.stderr.decode().strip()}")
        for document in gcov.stdout.decode().splitlines():
            data = json.loads(document)
            for file in data["files"]:
                path = os.path.join(data["current_working_directory"], file["file"])
                path = os.path.relpath(os.path.realpath(path), ROOT)
                if not path.startswith("src/"):
                    continue
                for function in file["functions"]:
                    functions[path].add((function["start_line"], function["end_line"], function["name"]))
                for line in file["lines"]:
                    if line["branches"]:
                        lines[path][line["line_number"]].add([branch["count"] for branch in line["branches"]])
    return lines, functions


def foreign_files(paths):
    """The files whose code this processor cannot run."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            flags = set(file.read().split())
    except OSError:
        return []
    missing = tuple(prefix for prefix, flag in PROCESSORS.items() if flag not in flags)
    return [path for path in paths if path.startswith(missing)]


def function_at(functions, number):
    inside = [f for f in functions if f[0] <= number <= f[1]]
    return max(inside)[2] if inside else "?"


def part_of(path, function):
    for part, places in PARTS.items():
        for files, names in places:
            if re.match(files, path) and re.fullmatch(names, function):
                return part
    return None


def read_list(path):
    """Returns {(file, function, source line, occurrence, branch): reason}. unreached.txt describes the format."""
    entries = {}
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for block in re.split(r"\n\s*\n", text):
        rows = [row for row in block.splitlines() if row and not row.startswith("#")]
        if not rows:
            continue
        match = re.fullmatch(r"(\S+) (\w+), branch(?:es)? ([\d ]+?)(?: of line #(\d+))?", rows[0])
        if not match or len(rows) < 3:
            sys.exit(f"coverage: {path}: not an entry: {rows[0]}")
        for branch in match[3].split():
            key = (match[1], match[2], rows[1].strip(), int(match[4] or 1), int(branch))
            if key in entries:
                sys.exit(f"coverage: {path}: twice in the list: {rows[0]}")
            entries[key] = " ".join(row.strip() for row in rows[2:])
    return entries


def percent(taken, total):
    return 100.0 if total == 0 else 100.0 * taken / total


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    options = argparse.ArgumentParser(description="Reports the branches of the library that the tests have taken.")
    options.add_argument("build")
    options.add_argument("--list", default=os.path.join(here, "unreached.txt"))
    options.add_argument("--missing", metavar="PREFIX", help="also print the missing branches of files like this")
    given = options.parse_args()

    lines, functions = read_counts(os.path.abspath(given.build))
    listed = read_list(given.list)
    for path in foreign_files(sorted(lines)):
        print(f"{path} is not counted: this processor cannot run it")
        del lines[path]
    totals = collections.defaultdict(lambda: [0, 0])  # folder, part or ALL -> [taken, all]
    unlisted, missing, unknown, reached = [], [], set(listed), []
    for path in sorted(lines):
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            source = file.read().splitlines()
        seen = collections.Counter()  # lines of the same text in the same function
        for number in sorted(lines[path]):
            function = function_at(functions[path], number)
            part = part_of(path, function)
            text = source[number - 1].strip()
            seen[function, text] += 1
            for branch, count in enumerate(lines[path][number].branches()):
                key = (path, function, text, seen[function, text], branch)
                unknown.discard(key)
                excused = key in listed and count == 0
                for name in (ALL, os.path.dirname(path), part and f"the {part}"):
                    if name:
                        totals[name][0] += count > 0
                        totals[name][1] += not (excused and name == f"the {part}")
                place = f"{path}:{number}: {function}, branch {branch}: {text}"
                if count > 0 and key in listed:
                    reached.append(place)
                if count == 0 and part and not excused:
                    unlisted.append((part, place))
                if count == 0 and given.missing and path.startswith(given.missing):
                    missing.append(place)

    failed = False
    folders = sorted(name for name in totals if name.startswith("src"))
    for name in folders + [ALL]:
        taken, total = totals[name]
        print(f"{name:<24} {taken:6} of {total:6} branches  {percent(taken, total):6.2f}%")
    for part in PARTS:
        taken, total = totals[f"the {part}"]
        excused = sum(1 for key in listed if part_of(key[0], key[1]) == part)
        print(f"the {part:<20} {taken:6} of {total:6} branches  {percent(taken, total):6.2f}%, "
              f"and {excused} that cannot be reached")
    for place in missing:
        print(f"not taken: {place}")
    for part, place in unlisted:
        failed = True
        print(f"not taken, in the {part}: {place}")
    for place in reached:
        failed = True
        print(f"taken, but {os.path.relpath(given.list, ROOT)} says that it cannot be: {place}")
    for key in sorted(unknown):
        failed = True
        print(f"{os.path.relpath(given.list, ROOT)} names a branch that does not exist: "
              f"{key[0]}: {key[1]}, branch {key[4]}: {key[2]}")
    if percent(*totals[ALL]) < OVERALL_GOAL:
        failed = True
        print(f"the goal is {OVERALL_GOAL:.0f}% of the branches of src")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
