#!/usr/bin/env python3
"""Tests which conditions tools/mutants/mutants.py finds: mutants.py SOURCE_FOLDER"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(sys.argv[1], "tools", "mutants"))
import mutants  # noqa: E402

# What is found in the body of a function, in the order of the text; the longer of two that begin together comes last.
CASES = [
    ("if (a) b();", ["a"]),
    ("if (a && b) c();", ["a", "a && b", "b"]),
    ("if (a || (b && c)) d();", ["a", "a || (b && c)", "(b && c)", "b", "c"]),
    ("while (a < 3) a++;", ["a < 3"]),
    ("do a++; while (a != b);", ["a != b"]),
    ("for (int i = 0; i < n; i++) f(i);", ["i < n"]),
    ("for (;;) f();", []),
    ("for (int i = 0, m = a ? 1 : 2; i < n && m; i++) f();", ["a", "i < n", "i < n && m", "m"]),
    ("return a ? b : c;", ["a"]),
    ("return a || b ? c : d ? e : f;", ["a", "a || b", "b", "d"]),
    ("x = a == 1 && f(b, c || d);", ["a == 1", "f(b, c || d)", "c", "d"]),
    ("bool x = a, y = b && c;", ["b", "c"]),
    ("x += a ? 1 : 2;", ["a"]),
    ("f(a ? b : c, d && e);", ["a", "d", "e"]),
    ("*p = (point){.x = a ? 1 : 2, .y = b};", ["a"]),
    ("switch (a ? b : c) { case 1: return d && e; default: break; }", ["a", "d", "e"]),
    ("if (a) { if (b) c(); } else if (d) e();", ["a", "b", "d"]),
    ("else_ = a; if (x[i ? 1 : 0] > 0) f();", ["x[i ? 1 : 0] > 0", "i"]),
    ("assert(a && b); static_assert(c || d, \"x && y\"); if (e) f();", ["e"]),
    ("/* if (a) */ f(\"if (b && c)\", '?'); // if (d)\n", []),
    ("\n#if A && B\nif (c) d();\n#endif\n", ["c"]),
]


def main():
    for body, wanted in CASES:
        text = "static int global = 1;\nstatic int f(int a) {\n" + body + "\n}\n"
        scanned = mutants.Scanner(text).scan()
        found = [text[start:end] for start, end, _ in scanned]
        if sorted(found) != sorted(wanted) or any(name != "f" for _, _, name in scanned):
            sys.exit(f"in: {body}\nfound:  {found}\nwanted: {wanted}")
        for start, end, _ in scanned:
            changed = mutants.Mutant("x.c", text, start, end, "f").apply(text)
            if changed != text[:start] + "!(" + text[start:end] + ")" + text[end:]:
                sys.exit(f"in: {body}\nnot a negation: {changed}")
    print(f"{len(CASES)} bodies of functions: ok")
    twice = "void f(void) {\n    if (a) b();\n    if (a) c();\n}\nvoid g(void) {\n    if (a) d();\n}\n"
    keys = [f"{name} {text}" for name, text in
            ((name, twice[start:end]) for start, end, name in mutants.Scanner(twice).scan())]
    if keys != ["f a", "f a", "g a"]:
        sys.exit(f"functions: {keys}")
    for path, functions, _ in mutants.SUBJECTS:
        if not mutants.mutants_of(path, functions):
            sys.exit(f"{path} has no conditions in {functions}")
    print(f"{len(mutants.SUBJECTS)} files have mutants: ok")


main()
