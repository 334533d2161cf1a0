#!/usr/bin/env python3
"""Draws a run of the filter benchmark as an SVG chart: chart.py RUN.json CHART.svg

There is a panel for each number of keys, a group of bars for each kind, and a bar for each operation. The length of a
bar is the median of the nanoseconds per operation. The thin line at its end goes from the fastest round to the
slowest. The vertical mark is the machine's limit. The file is self-contained and follows the light or dark colour
scheme of the page.
"""
import json
import sys
from html import escape

OPERATIONS = (
    ("add_many", "add_many", "a"),
    ("build", "build", "b"),
    ("has_many present", "has_many, present", "c"),
    ("has_many absent", "has_many, absent", "d"),
    ("remove_many", "remove_many", "e"),
)
WIDTH, LEFT, RIGHT = 880, 220, 110
BAR, GAP, GROUP_GAP, TITLE = 12, 3, 14, 44

STYLE = """
text { font: 12px system-ui, sans-serif; fill: #57606a }
.head { font-size: 14px; font-weight: 600; fill: #1f2328 }
.grid { stroke: #d0d7de }
.limit { stroke: #1f2328; stroke-width: 2 }
.spread { stroke: #57606a }
.a { fill: #4c8dd6 } .b { fill: #7a6fd0 } .c { fill: #3fa27c } .d { fill: #c98a2b } .e { fill: #c95d6b }
@media (prefers-color-scheme: dark) {
  text { fill: #9198a1 } .head { fill: #f0f6fc } .grid { stroke: #3d444d }
  .limit { stroke: #f0f6fc } .spread { stroke: #9198a1 }
}
"""


def step(most):
    """Returns a round distance between grid lines, such that there are at most eight of them."""
    power = 1.0
    while power * 10 < most / 8:
        power *= 10
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= most / 8)


def panel(rows, n, top):
    kinds = list(dict.fromkeys(row["name"] for row in rows))
    most = max(row["most"] for row in rows)
    scale = (WIDTH - LEFT - RIGHT) / most
    found = {(row["name"], row["op"]): row for row in rows}
    marks, y = [], top + TITLE
    for kind in kinds:
        rate = next(row["rate"] for row in rows if row["name"] == kind)
        marks.append(f'<text class="head" x="12" y="{y + BAR - 2}">{escape(kind)}</text>')
        marks.append(f'<text x="12" y="{y + 2 * BAR + GAP}">{rate * 100:g}%</text>')
        for op, text, style in OPERATIONS:
            row = found.get((kind, op))
            if row is None:
                continue
            middle, end = y + BAR / 2, LEFT + row["ns"] * scale
            marks.append(f'<text x="{LEFT - 8}" y="{y + BAR - 2}" text-anchor="end">{escape(text)}</text>')
            marks.append(f'<rect class="{style}" x="{LEFT}" y="{y}" width="{row["ns"] * scale:.1f}" height="{BAR}"/>')
            marks.append(f'<path class="spread" d="M{LEFT + row["least"] * scale:.1f} {middle}'
                         f'H{LEFT + row["most"] * scale:.1f}"/>')
            note = f'{row["ns"]:.1f}'
            if "limit_ns" in row:
                at = LEFT + row["limit_ns"] * scale
                marks.append(f'<path class="limit" d="M{at:.1f} {y - 1}v{BAR + 2}"/>')
                note += f' ({row["to_limit"]:.1f}×)'
                end = max(end, at)
            marks.append(f'<text x="{max(end, LEFT + row["most"] * scale) + 6:.1f}" y="{y + BAR - 2}">{note}</text>')
            y += BAR + GAP
        y += GROUP_GAP
    grid, value = [], 0.0
    while value <= most:
        x = LEFT + value * scale
        grid.append(f'<path class="grid" d="M{x:.1f} {top + TITLE - 6}V{y - GROUP_GAP}"/>')
        grid.append(f'<text x="{x:.1f}" y="{top + TITLE - 10}" text-anchor="middle">{value:g}</text>')
        value += step(most)
    head = f'<text class="head" x="12" y="{top + 16}">{n:,} keys: ns per operation</text>'
    return [head] + grid + marks, y + GROUP_GAP


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    with open(sys.argv[1], encoding="utf-8") as file:
        run = json.load(file)
    wanted = {op for op, _, _ in OPERATIONS}
    rows = [row for row in run["results"] if row["who"] == "kith" and row["threads"] == 1 and row["op"] in wanted]
    parts, y = [], 12
    for n in dict.fromkeys(row["n"] for row in rows):
        marks, y = panel([row for row in rows if row["n"] == n], n, y)
        parts += marks
    machine = run["machine"]
    about = (f"kith {run['kith']}, one thread, {machine['cpu']}, median of {run['rounds']} rounds, {run['date'][:10]}. "
             "Thin line: fastest to slowest round. Vertical mark: the machine's limit; in brackets the ratio to it.")
    parts.append(f'<text x="12" y="{y + 6}">{escape(about[:about.index(". ") + 1])}</text>')
    parts.append(f'<text x="12" y="{y + 22}">{escape(about[about.index(". ") + 2:])}</text>')
    height = y + 36
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
                   f'viewBox="0 0 {WIDTH} {height}" role="img" '
                   f'aria-label="nanoseconds per operation for each kind of filter">\n<style>{STYLE}</style>\n')
        file.write("\n".join(parts) + "\n</svg>\n")


if __name__ == "__main__":
    main()
