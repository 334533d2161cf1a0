#!/usr/bin/env bash
# Tests that the benchmark runs, that its JSON has every kind, and that a run compared with itself shows no change:
# smoke.sh BENCH_FILTERS
# No time is checked, so the assertions hold on any machine.
set -euo pipefail
program=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
box=$(mktemp -d "${TMPDIR:-/tmp}/kith-bench-XXXXXX")
trap 'rm -rf "$box"' EXIT
die() { echo "smoke: $*" >&2; exit 1; }

"$root/bench/filters.sh" "$program" --n 1000 --least 1000 --rounds 1 --json "$box/run.json" --svg "$box/run.svg" \
  >"$box/table"
"$root/bench/filters.sh" "$program" --compare "$box/run.json" "$box/run.json" >"$box/same"

# Every kind in the register is in the table, in the JSON and in the chart, except layers, which consists of the others.
kinds=$(sed -n 's/^KIND(\(.*\))$/\1/p' "$root/src/kinds/kinds.def" | grep -vx layers)
[ -n "$kinds" ] || die "no kinds in the register"
for kind in $kinds; do
  python3 - "$box/run.json" "$kind" <<'END' || die "the JSON lacks $kind"
import json, sys
run, kind = json.load(open(sys.argv[1])), sys.argv[2]
rows = [r for r in run["results"] if r["who"] == "kith" and r["name"] == kind]
ops = {r["op"] for r in rows}
wanted = {"build"} | {f"{call} {which}" for call in ("has", "has_many") for which in ("present", "absent", "half")}
assert wanted <= ops, ops
assert all(r["ns"] > 0 and r["limit_ns"] > 0 and len(r["rounds"]) == 1 for r in rows)
assert any(f["name"] == kind and f["bits_per_key"] > 0 for f in run["filters"])
END
  grep -qw "$kind" "$box/table" || die "the table lacks $kind"
  grep -q ">$kind<" "$box/run.svg" || die "the chart lacks $kind"
done
grep -q ' 0 changed beyond their spread (.*); 0 only in the old run, 0 only in the new one' "$box/same" ||
  die "a run compared with itself shows a change: $(tail -1 "$box/same")"

# A row that became ten times slower is marked slower, one that became ten times faster is marked faster, and no other
# is.
python3 - "$box/run.json" "$box/other.json" <<'END'
import json, sys
run = json.load(open(sys.argv[1]))
rows = [r for r in run["results"] if r["who"] == "kith"]
for row, factor in (rows[0], 10), (rows[1], 0.1):
    for name in ("ns", "least", "most"):
        row[name] *= factor
json.dump(run, open(sys.argv[2], "w"))
END
"$root/bench/filters.sh" "$program" --compare "$box/run.json" "$box/other.json" >"$box/changed"
[ "$(grep -c 'slower$' "$box/changed")" = 1 ] && [ "$(grep -c 'faster$' "$box/changed")" = 1 ] ||
  die "a planted change is not marked"
