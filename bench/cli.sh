#!/usr/bin/env bash
# Compares the command-line tool with the tools that people use today: cli.sh KITH [LINES [ROUNDS]]
#
# The input is LINES (10 million) lines of 20 bytes, half of them duplicates. Each command runs ROUNDS (5) times,
# alternating with its peer, so that other load on the machine affects both. Each line of the table shows the median
# wall time and the largest peak memory of both, the ratios kith / peer, and in brackets the ratio that kith promises.
# The exit status is 1 if a promise is not kept.
#
# `kith uniq -p` must not be slower than exact `kith uniq`, which has a simpler hash. This is measured for short lines
# (all different numbers), long lines (110 bytes, two thirds of them different) and URLs (30 to 170 bytes, a few of
# which are most of the lines), with one thread (1t) and two (2t). On a machine with two processors or more, exact
# `kith uniq` must be faster with two threads than with one.
set -euo pipefail
kith=$(realpath "$1") lines=${2:-10000000} rounds=${3:-5}
for tool in mawk bloom /usr/bin/time; do
  command -v "$tool" >/dev/null || { echo "bench: $tool is missing" >&2; exit 2; }
done
box=$(mktemp -d "${TMPDIR:-/tmp}/kith-bench-XXXXXX")
trap 'rm -rf "$box"' EXIT
cd "$box"
export LC_ALL=C TMPDIR=$box

# Odd lines are new, even lines repeat an earlier one. The multiplications scatter the keys over 19 digits.
mawk -v n="$lines" 'BEGIN {
  srand(1)
  for (i = 0; i < n; i++) {
    k = i % 2 ? int(rand() * (i + 1) / 2) : i / 2
    printf "%010.0f%09.0f\n", (k * 7919) % 9999999967, (k * 104729) % 999999937
  }
}' >lines
distinct=$((lines / 2))
mawk -v n="$lines" 'NR % 10 == 1' lines >tenth # a tenth of the lines, for grep to search for
cat lines >/dev/null
mawk -v n="$lines" 'BEGIN { for (i = 0; i < n; i++) printf "%d\n", i }' >short
mawk -v n="$((lines / 6))" 'BEGIN {
  srand(2)
  for (i = 0; i < n; i++) {
    k = i % 3 == 2 ? int(rand() * i / 3 * 2) : i - int(i / 3)
    word = sprintf("%010.0f%09.0f", (k * 7919) % 9999999967, (k * 104729) % 999999937)
    print substr(word word word word word word, 1, 109)
  }
}' >long
mawk -v n="$((lines / 3))" 'BEGIN {
  srand(3)
  for (i = 0; i < n; i++) {
    k = int(exp(rand() * log(n / 10)))
    url = "https://www.example.org/" k "/"
    for (j = k * 7919 % 24; j > 0; j--) url = url "path" j % 10 "/"
    print url
  }
}' >urls

measure() { # NAME COMMAND: appends "seconds kilobytes" to NAME
  /usr/bin/time -f '%e %M' -o stamp bash -c "$2" >/dev/null
  tail -1 stamp >>"$1"
}
seconds() { sort -n "$1" | mawk '{ t[NR] = $1 } END { print t[int((NR + 1) / 2)] }'; }
spread() { sort -n "$1" | mawk '{ t[NR] = $1 } END { printf "%.2f-%.2f", t[1], t[NR] }'; }
memory() { mawk '$2 > m { m = $2 } END { print m / 1024 }' "$1"; }

broken=0
row() { # NAME PEER PROMISED-TIME-RATIO PROMISED-MEMORY-RATIO (- for none)
  local verdict
  verdict=$(mawk -v t="$(seconds "$1")" -v pt="$(seconds "$2")" -v m="$(memory "$1")" -v pm="$(memory "$2")" \
    -v tl="$3" -v ml="$4" 'BEGIN {
      bad = t / pt > tl || (ml != "-" && m / pm > ml)
      printf "%7.2f s %7.2f s  %5.3f (%s)  %7.1f MiB %7.1f MiB  %5.3f (%s)  %s", t, pt, t / pt, tl, m, pm, m / pm, ml,
        bad ? "MISSED" : "ok"
    }')
  printf '%-16s %-14s %s  spread %s, %s\n' "$1" "$2" "$verdict" "$(spread "$1")" "$(spread "$2")"
  case $verdict in *MISSED) broken=1 ;; esac
}
cap() { # NAME MIB
  mawk -v m="$(memory "$1")" -v cap="$2" 'BEGIN { exit !(m > cap) }' || return 0
  echo "$1 needs more than $2 MiB: MISSED"
  broken=1
}

"$kith" build -o found.kith -p 0.001 lines
bloom create -p 0.001 -n "$distinct" found.bloom
bloom insert found.bloom <lines
for _ in $(seq "$rounds"); do
  measure sort "sort -u lines"
  measure mawk "mawk '!s[\$0]++' lines"
  measure uniq "'$kith' uniq --exact lines"
  measure uniq-1t "'$kith' uniq --threads 1 lines"
  measure uniq-2t "'$kith' uniq --threads 2 lines"
  measure uniq-p "'$kith' uniq -p 0.001 lines"
  rm -f new.bloom
  measure bloom-insert "bloom create -p 0.001 -n $distinct new.bloom && bloom insert new.bloom <lines"
  measure build "'$kith' build -p 0.001 -o new.kith lines"
  measure bloom-check "bloom check found.bloom <lines"
  measure query "'$kith' query found.kith lines"
  measure grep "grep -Fxf tenth lines"
  for input in short long urls; do
    for threads in 1 2; do
      measure "$input-${threads}t" "'$kith' uniq --threads $threads $input"
      measure "$input-p-${threads}t" "'$kith' uniq --threads $threads -p 1e-6 $input"
      measure "$input-p-n-${threads}t" "'$kith' uniq --threads $threads -p 1e-6 -n $((2 * lines)) $input"
    done
  done
  measure build+query "'$kith' build -p 0.001 -o tenth.kith tenth && '$kith' query tenth.kith lines"
done

echo "$(uname -m), $(getconf _NPROCESSORS_ONLN) processors, $lines lines, medians of $rounds rounds;" \
  "in brackets the promised ratio"
printf '%-16s %-14s %9s %9s  %-12s  %11s %11s\n' kith peer time peer ratio memory peer
# The promise for uniq is half of the memory of whichever of the two peers needs less.
smaller=$(mawk -v a="$(memory sort)" -v b="$(memory mawk)" 'BEGIN { print a < b ? "sort" : "mawk" }')
row uniq sort 0.25 "$([ "$smaller" = sort ] && echo 0.5 || echo -)"
row uniq mawk 0.1 "$([ "$smaller" = mawk ] && echo 0.5 || echo -)"
[ "$(getconf _NPROCESSORS_ONLN)" -lt 2 ] || row uniq-2t uniq-1t 0.7 -
row uniq-p sort 0.2 -
cap uniq-p 64
for input in short long urls; do
  for threads in 1 2; do
    row "$input-p-${threads}t" "$input-${threads}t" 1 -
    row "$input-p-n-${threads}t" "$input-${threads}t" 1 -
  done
done
row build bloom-insert 0.25 -
row query bloom-check 0.1 -
row build+query grep 0.05 -
exit $broken
