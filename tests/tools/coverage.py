#!/usr/bin/env python3
"""Tests tools/coverage/report.py on a small program: coverage.py SOURCE_FOLDER COMPILER"""
import contextlib
import io
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(sys.argv[1], "tools", "coverage"))
import report  # noqa: E402

SOURCE = """#include <stdlib.h>
static int larger(int a, int b) {
    if (a > b)
        return a;
    return b;
}
int main(int argc, char **argv) {
    (void)argv;
    for (int i = 0; i < argc; i++)
        if (i > 0 && argc > 5)
            abort();
    return larger(1, 2) - 2;
}
"""
LARGER = "src/plan/x.c larger, branch {}\n    if (a > b)\n    a is never larger\n"
# One line with two branches that are not taken; i > 0 is false for the only i.
MAIN = "src/plan/x.c main, branches {}\n    if (i > 0 && argc > 5)\n    there are no arguments\n"


def reported(build, listed):
    """Returns the exit status and the output for this list."""
    path = os.path.join(build, "list.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write("# a comment\n\n" + listed)
    sys.argv = ["report.py", build, "--list", path]
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output):
            report.main()
    except SystemExit as end:
        return end.code, output.getvalue()
    return 0, output.getvalue()


def expect(what, condition, output):
    if not condition:
        sys.exit(f"does not hold: {what}\n{output}")
    print("ok     ", what)


def main():
    compiler = sys.argv[2]
    with tempfile.TemporaryDirectory() as root:
        root = os.path.realpath(root)
        build = os.path.join(root, "build")
        objects = os.path.join(build, "CMakeFiles", "kith_objects.dir", "src", "plan")
        os.makedirs(objects)
        os.makedirs(os.path.join(root, "src", "plan"))
        with open(os.path.join(root, "src", "plan", "x.c"), "w", encoding="utf-8") as file:
            file.write(SOURCE)
        output = os.path.join(objects, "x.c.o")
        # The options of KITH_COVERAGE in CMakeLists.txt.
        subprocess.run([compiler, "--coverage", "-Og", "-fno-early-inlining", "-fno-thread-jumps",
                        "--param=logical-op-non-short-circuit=0", "-c", os.path.join(root, "src", "plan", "x.c"),
                        "-o", output], cwd=build, check=True)
        subprocess.run([compiler, "--coverage", output, "-o", os.path.join(build, "x")], cwd=build, check=True)
        subprocess.run([os.path.join(build, "x")], check=True)
        report.ROOT = root
        report.OVERALL_GOAL = 0

        status, text = reported(build, "")
        expect("a branch that is not taken and not in the list is named",
               status == 1 and "not taken, in the planner: src/plan/x.c:3: larger, branch" in text, text)
        missing = [line.split("branch ")[1].split(":")[0] for line in text.splitlines() if ":3: larger" in line]
        others = [line.split("branch ")[1].split(":")[0] for line in text.splitlines() if ":10: main" in line]
        expect("each outcome of each condition is a branch", len(missing) == 1 and len(others) == 3, text)

        both = LARGER.format(missing[0]) + "\n" + MAIN.format(" ".join(others))
        status, text = reported(build, both)
        expect("a list of all of them is accepted", status == 0 and "and 4 that cannot be reached" in text, text)

        taken = both.replace(f"branch {missing[0]}", f"branches {missing[0]} {1 - int(missing[0])}")
        status, text = reported(build, taken)
        expect("a branch in the list that was taken is an error", status == 1 and "taken, but" in text, text)

        status, text = reported(build, both.replace("a > b", "a > c"))
        expect("a line in the list that does not exist is an error", status == 1 and "does not exist" in text, text)

        status, text = reported(build, both.replace("    a is never larger\n", ""))
        expect("an entry without a reason is an error", status not in (0, 1) and "not an entry" in str(status), text)

        report.OVERALL_GOAL = 95
        status, text = reported(build, both)
        expect("the share of all branches counts the listed ones, too", status == 1 and "the goal is 95%" in text, text)


main()
