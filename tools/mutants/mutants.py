#!/usr/bin/env python3
"""Flips one condition of the library at a time and runs the tests, which must notice.

usage: mutants.py BUILD [FILE…] [--sample N] [--seed S] [--jobs N] [--verbose | --list | --programs]

BUILD is the build folder of the preset `dev`, in which the test programs of SUBJECTS are built. FILE is a source file
of the library; without any, all files of the subjects are used. --sample takes N mutants per file (the same ones for
the same seed). --list prints the mutants, and --programs the test programs that are needed, and runs nothing.

A mutant is the library with one expression X replaced by !(X). X is the condition of an if, while, do, for or ?:, or an
operand of && or ||. Conditions inside asserts are left as they are. A small scanner finds them, without a compiler.

A mutant costs one compilation (of all files that include it, for a header), and one link for each test program. The
tests of its subject run, the fastest first, until one fails: the mutant is killed. A test that takes far longer than
with the unchanged library has failed too. What no test notices has survived; the mutants that no test can notice are in
equivalent.txt with a reason, and do not count.

The exit status is 1 if fewer than 95% of the mutants are killed, or if one in equivalent.txt was killed or does not
exist.
"""
import argparse
import concurrent.futures
import json
import os
import queue
import random
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.dirname(os.path.abspath(__file__))
GOAL = 95.0

# Files, which of their functions, and the tests (programs with arguments) that must notice their mutants.
PLANNER = [
    "unit_plan_options", "unit_plan_internal", "unit_plan_bloom", "unit_plan_inside", "unit_plan_quantiles", "golden",
    "contract plan_rejects_impossible_requests", "contract plan_bytes_are_the_bytes_allocated", "unit_sizes",
    "unit_plan",
]
VALIDATOR = [
    "unit_forged_blocks", "unit_good_files", "golden", "golden_tables", "unit_bad_files", "unit_store",
    "contract forged_notes_are_refused", "contract damaged_notes_are_refused", "contract notes_can_be_replaced",
    "contract recipe_and_notes_stay_with_the_filter", "contract every_truncation_is_refused",
    "contract check_names_a_broken_invariant", "contract damage_in_files_of_several_pages_is_refused",
    "contract lazily_opened_bytes_are_verified_before_they_are_changed_or_copied",
]
JOURNAL = [
    "unit_store_journal", "unit_store_load", "unit_store", "unit_store_process", "unit_store_faults",
    "unit_store_power", "unit_repair", "unit_repair_journal",
]
SUBJECTS = [
    ("src/plan/fit.c", r".*", [*PLANNER, "unit_plan_fits"]),
    ("src/plan/options.c", r".*", PLANNER),
    ("src/plan/planner.c", r".*", PLANNER),
    ("src/plan/sizing.c", r".*", PLANNER),
    ("src/plan/whole_rate.c", r".*", [*PLANNER, "unit_whole"]),
    ("src/format/format.c", r".*", VALIDATOR),
    ("src/format/head.h", r".*", VALIDATOR),
    ("src/format/notes.c", r".*", VALIDATOR),
    ("src/format/read.h", r".*", VALIDATOR),
    ("src/handle/handle.c", r"kithi_filter_(bind|check|verify)", VALIDATOR),
    ("src/kinds/shared/cuckoo_kinds.c", r"check_stash|kithi_cf_check", VALIDATOR),
    ("src/kinds/fuse/fuse.c", r"check", VALIDATOR),
    ("src/kinds/ribbon/ribbon.c", r"check|check_shard", VALIDATOR),
    ("src/file/journal.c", r".*", JOURNAL),
    ("src/file/load.c", r".*", JOURNAL),
]


# ---- finding conditions ----

TOKEN = re.compile(r"""[A-Za-z_]\w*|\d[\w.]*|->|\+\+|--|<<=|>>=|&&|\|\||[-+*/%&|^!=<>]=|<<|>>|\S""")
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
OPEN, CLOSE = {"(": ")", "[": "]", "{": "}"}, set(")]}")


def blank(text, start, end):
    return text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]


def masked(text):
    """Blanks out comments, strings, preprocessor lines and asserts; every other character stays in its place."""
    comment, string, character = r"/\*.*?\*/|//[^\n]*", r'"(?:\\.|[^"\\])*"', r"'(?:\\.|[^'\\])*'"
    pattern = re.compile(rf"{comment}|{string}|{character}|^[ \t]*#(?:\\\n|[^\n])*", re.S | re.M)
    text = pattern.sub(lambda m: re.sub(r"[^\n]", "0" if m[0][0] in "'\"" else " ", m[0]), text)
    for match in reversed(list(re.finditer(r"\b(?:static_)?assert\b\s*\(", text))):
        end, depth = match.end(), 1
        while depth > 0:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        text = blank(text, match.start(), end)
    return text


class Scanner:
    """Finds the conditions of a file, as (start, end) offsets, and the function that each is in."""

    def __init__(self, text):
        self.text = masked(text)
        self.tokens = [(m[0], m.start(), m.end()) for m in TOKEN.finditer(self.text)]
        self.partner = {}
        stack = []
        for i, (token, _, _) in enumerate(self.tokens):
            if token in OPEN:
                stack.append(i)
            elif token in CLOSE:
                self.partner[stack.pop()] = i
        self.found = set()
        self.functions = []  # (start, end, name)

    def add(self, first, last):
        """The tokens from `first` up to, but without, `last` are a condition."""
        if first < last:
            self.found.add((self.tokens[first][1], self.tokens[last - 1][2]))

    def expression(self, first, last):
        """Finds the operands of && and ||, and the conditions of ?:, in these tokens."""
        begin, operand, logical = first, first, False

        def end_operand(at):
            if logical:
                self.add(operand, at)

        i = first
        while i < last:
            token = self.tokens[i][0]
            if token in OPEN and i in self.partner:
                self.expression(i + 1, self.partner[i])
                i = self.partner[i]
            elif token in ("&&", "||"):
                logical = True
                self.add(operand, i)
                operand = i + 1
            elif token == "?":
                end_operand(i)
                self.add(begin, i)
                begin = operand = i + 1
                logical = False
            elif token in (",", ";", ":", "return", "case", "else", "do") or token in ASSIGNMENTS:
                end_operand(i)
                begin = operand = i + 1
                logical = False
            i += 1
        end_operand(last)

    def statement_conditions(self):
        for i, (token, _, _) in enumerate(self.tokens):
            if token in ("if", "while") and self.tokens[i + 1][0] == "(":
                self.add(i + 2, self.partner[i + 1])
            elif token == "for":
                at, close, parts = i + 2, self.partner[i + 1], []
                while at < close:
                    if self.tokens[at][0] == ";":
                        parts.append(at)
                    at = self.partner.get(at, at) + 1
                self.add(parts[0] + 1, parts[1])

    def scan(self):
        i = 0
        while i < len(self.tokens):  # the file's level: only bodies of functions contain conditions
            if self.tokens[i][0] == "{":
                close = self.partner[i]
                if i > 0 and self.tokens[i - 1][0] == ")":
                    back = next(o for o, c in self.partner.items() if c == i - 1)
                    self.functions.append((self.tokens[i][1], self.tokens[close][2], self.tokens[back - 1][0]))
                    self.expression_of_block(i + 1, close)
                i = close
            i += 1
        self.statement_conditions()
        inside = []
        for start, end in sorted(self.found):
            name = next((n for s, e, n in self.functions if s <= start < e), None)
            if name:
                inside.append((start, end, name))
        return inside

    def expression_of_block(self, first, last):
        """Statements: everything between ; { } and the heads of statements is an expression."""
        start, i = first, first
        while i < last:
            token = self.tokens[i][0]
            if token in ("if", "while", "for", "switch"):
                self.expression(start, i)
                close = self.partner[i + 1]
                self.expression(i + 2, close)
                i = close
                start = i + 1
            elif token == ";":
                self.expression(start, i)
                start = i + 1
            elif token == "{" and self.tokens[i - 1][0] not in ("=", ",", "(") and not self.is_literal(i):
                self.expression_of_block(i + 1, self.partner[i])
                i = self.partner[i]
                start = i + 1
            elif token in OPEN:
                i = self.partner[i]
            i += 1
        self.expression(start, last)

    def is_literal(self, brace):
        """Whether { begins the value of a compound literal: (type){…}. A block follows ), else, do or the like."""
        if self.tokens[brace - 1][0] != ")":
            return False
        back = next(o for o, c in self.partner.items() if c == brace - 1)
        return self.tokens[back - 1][0] not in ("if", "while", "for", "switch")


class Mutant:
    def __init__(self, path, text, start, end, function):
        self.path, self.start, self.end, self.function = path, start, end, function
        self.line = text.count("\n", 0, start) + 1
        self.condition = " ".join(text[start:end].split())
        self.occurrence = 1

    def key(self):
        suffix = f" #{self.occurrence}" if self.occurrence > 1 else ""
        return f"{self.path} {self.function}: {self.condition}{suffix}"

    def apply(self, text):
        return text[:self.start] + "!(" + text[self.start:self.end] + ")" + text[self.end:]


def mutants_of(path, functions):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        text = file.read()
    mutants, seen = [], {}
    for start, end, function in Scanner(text).scan():
        if not re.fullmatch(functions, function):
            continue
        mutant = Mutant(path, text, start, end, function)
        place = (function, mutant.condition)
        mutant.occurrence = seen[place] = seen.get(place, 0) + 1
        mutants.append(mutant)
    return mutants


# ---- building and running ----

def run(command, **more):
    result = subprocess.run(command, capture_output=True, text=True, **more)
    if result.returncode != 0:
        raise RuntimeError(f"{shlex.join(command)}\n{result.stderr}")
    return result.stdout


class Library:
    """The library of the build folder, from which each mutant replaces the objects that it changes."""

    def __init__(self, build):
        self.build = build
        self.commands = {}  # source -> the compiler and its flags
        self.users = {}  # file -> the sources that include it, or are it
        with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
            for entry in json.load(file):
                path = os.path.relpath(os.path.join(entry["directory"], entry["file"]), ROOT)
                # Some tests compile sources of the library once more, with other flags.
                if path.startswith("src/") and "CMakeFiles/kith_objects.dir/" in entry["command"]:
                    self.commands[path] = self.flags_of(shlex.split(entry["command"]))
        source = None
        for line in run(["ninja", "-C", build, "-t", "deps"]).splitlines():
            match = re.match(r"CMakeFiles/kith_objects\.dir/(src/\S+)\.o: ", line)
            if not line.startswith(" "):
                source = match[1] if match else None
            elif source:
                path = os.path.relpath(os.path.join(build, line.strip()), ROOT)
                self.users.setdefault(path, set()).add(source)

    @staticmethod
    def flags_of(words):
        """The compiler and the flags of a command, without its files and the folder of the sources."""
        compiler = next(word for word in words if os.path.basename(word) in ("gcc", "cc", "clang"))
        words, flags = iter(words[words.index(compiler):]), []
        for word in words:
            if word in ("-o", "-c", "-MF", "-MT"):
                next(words)
            elif word not in ("-MD", "-g", f"-I{ROOT}/src"):
                flags.append(word)
        return flags

    def compile(self, source, folder):
        """Compiles a source in a folder that has a copy of src."""
        output = os.path.join(folder, source.replace("/", "+") + ".o")
        run([*self.commands[source], f"-I{folder}/src", "-w", "-c", os.path.join(folder, source), "-o", output])
        return output

    def link(self, program, objects, folder):
        """Links a test program with these objects instead of those in the library."""
        targets = os.path.join(self.build, "tests", "CMakeFiles")
        own = [os.path.join(place, name) for target in (program, f"{program}_objects")
               for place, _, names in os.walk(os.path.join(targets, f"{target}.dir")) for name in names
               if name.endswith(".o")]
        output = os.path.join(folder, program)
        run(["gcc", "-o", output, *own, *objects, os.path.join(self.build, "libkith.a"), "-lm", "-lpthread"])
        return output


def limit_cpu(seconds):
    def set_limits():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    return set_limits


def run_test(program, test, seconds):
    """Runs a test. Returns whether it passed within so many seconds of CPU time, and the seconds that it took."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as temporary:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        child = subprocess.Popen(
            [program, *test.split()[1:]], env=dict(os.environ, TMPDIR=temporary, KITH_TIER="test"), cwd=temporary,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            preexec_fn=limit_cpu(seconds))
        try:
            passed = child.wait(timeout=30 * seconds) == 0  # a mutant may also wait for ever
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 9)
            child.wait()
            passed = False
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return passed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def try_text(library, path, text, tests, limits, folder):
    """Returns the first test that fails if the file `path` has this text, or None."""
    copy = os.path.join(folder, path)
    with open(copy, "w", encoding="utf-8") as file:
        file.write(text)
    try:
        objects = [library.compile(source, folder) for source in sorted(library.users[path])]
    finally:
        shutil.copyfile(os.path.join(ROOT, path), copy)
    programs = {}
    for test in tests:
        name = test.split()[0]
        if name not in programs:
            programs[name] = library.link(name, objects, folder)
        if not run_test(programs[name], test, limits[test])[0]:
            return test
    return None


def read_equivalents():
    """Returns {key of a mutant: reason}. A key begins a line; the reason follows in indented lines."""
    entries, key = {}, None
    with open(os.path.join(HERE, "equivalent.txt"), encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("#") or not line.strip():
                continue
            if not line.startswith(" "):
                key = line.strip()
                entries[key] = ""
            else:
                entries[key] = f"{entries[key]} {line.strip()}".strip()
    for key, reason in entries.items():
        if not reason:
            sys.exit(f"mutants: equivalent.txt gives no reason for {key}")
    return entries


def main():
    options = argparse.ArgumentParser(description="Flips conditions of the library; the tests must notice.")
    options.add_argument("build")
    options.add_argument("files", nargs="*", metavar="FILE")
    options.add_argument("--sample", type=int, default=0, help="mutants per file (default: all)")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--jobs", type=int, default=os.cpu_count())
    options.add_argument("--verbose", action="store_true", help="print which test has killed each mutant")
    options.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    options.add_argument("--programs", action="store_true", help="print the test programs and run nothing")
    given = options.parse_intermixed_args()

    subjects = {path: tests for path, _, tests in SUBJECTS}
    for path in given.files:
        if path not in subjects:
            sys.exit(f"mutants: {path} is not a file of SUBJECTS in {os.path.relpath(__file__, ROOT)}")
    if given.programs:
        print(*sorted({test.split()[0] for path in given.files or subjects for test in subjects[path]}), sep="\n")
        return
    equivalents = read_equivalents()
    chosen, existing = [], set()
    for path, functions, _ in SUBJECTS:
        mutants = mutants_of(path, functions)
        existing |= {mutant.key() for mutant in mutants}
        if given.files and path not in given.files:
            continue
        if given.sample and given.sample < len(mutants):
            mutants = random.Random(f"{given.seed} {path}").sample(mutants, given.sample)
        chosen += sorted(mutants, key=lambda mutant: mutant.start)
    if given.list:
        for mutant in chosen:
            print(f"{mutant.path}:{mutant.line}: {mutant.key().split(' ', 1)[1]}")
        return
    failed = False
    for key in sorted(set(equivalents) - existing):
        failed = True
        print(f"equivalent.txt names a mutant that does not exist: {key}")

    build = os.path.abspath(given.build)
    library, times = Library(build), {}
    for test in sorted({test for mutant in chosen for test in subjects[mutant.path]}):
        passed, times[test] = run_test(os.path.join(build, "tests", test.split()[0]), test, 600)
        if not passed:
            sys.exit(f"mutants: {test} fails with the unchanged library")
    limits = {test: int(5 * seconds) + 5 for test, seconds in times.items()}

    with tempfile.TemporaryDirectory(prefix="kith-mutants-", dir=os.environ.get("TMPDIR")) as work, \
            concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        folders = queue.Queue()
        for i in range(given.jobs):
            folder = os.path.join(work, str(i))
            shutil.copytree(os.path.join(ROOT, "src"), os.path.join(folder, "src"))
            folders.put(folder)

        def try_one(path, mutant):
            """Tries a mutant of a file or, if it is None, the file as it is."""
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                text = file.read()
            folder = folders.get()
            try:
                tests = sorted(subjects[path], key=lambda test: times[test])
                return try_text(library, path, mutant.apply(text) if mutant else text, tests, limits, folder)
            finally:
                folders.put(folder)

        for path in sorted({mutant.path for mutant in chosen}):
            failing = try_one(path, None)
            if failing:
                sys.exit(f"mutants: {failing} fails although {path} is unchanged")
        counts = {}  # file -> [killed, survived, equivalent]
        killers = pool.map(lambda mutant: try_one(mutant.path, mutant), chosen)
        for mutant, killer in zip(chosen, killers):
            count = counts.setdefault(mutant.path, [0, 0, 0])
            place = f"{mutant.path}:{mutant.line}: {mutant.key().split(' ', 1)[1]}"
            if killer:
                count[0] += 1
                if mutant.key() in equivalents:
                    failed = True
                    print(f"killed by {killer}, but equivalent.txt says that no test can: {place}", flush=True)
                elif given.verbose:
                    print(f"killed by {killer}: {place}", flush=True)
            elif mutant.key() in equivalents:
                count[2] += 1
            else:
                count[1] += 1
                print(f"survived: {place}", flush=True)

    killed, survived, equivalent = (sum(count[i] for count in counts.values()) for i in range(3))
    for name, (k, s, e) in [*sorted(counts.items()), ("all", (killed, survived, equivalent))]:
        share = 100 * k / (k + s) if k + s else 100
        print(f"{name:<24} {k:5} killed, {s:3} survived, {e:3} equivalent: {share:6.2f}% killed")
    if killed < GOAL / 100 * (killed + survived):
        failed = True
        print(f"the goal is {GOAL:.0f}%")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
