#!/usr/bin/env bash
# Checks that a claim does not fail, and that docs/theory.md lists it with its verdict: claims.sh KITH CLAIM
# Runs it once with --quick. In the long tier (KITH_TIER=soak) also with 19 other seeds, and once in full.
set -u
kith=$1 claim=$2 failed=0

try() { # OPTION…
  "$kith" lab --threads 1 "$@" "$claim" 2>/dev/null || {
    echo "FAILED: kith lab $* $claim"
    failed=1
  }
}

findings=$("$kith" lab --threads 1 --quick --seed 1 "$claim" 2>/dev/null) || {
  echo "FAILED: kith lab --quick --seed 1 $claim"
  failed=1
}
printf '%s\n' "$findings"
verdict=$(grep -oE '(holds|looser than stated|a slip in the text|false as stated)$' <<<"$findings" | head -1)
tr '\n' ' ' <"$(dirname "$0")/../../docs/theory.md" |
  grep -oE "\\*$verdict\\*[^*\`]*" | head -1 | grep -qw "$claim" || {
  echo "FAILED: docs/theory.md does not list $claim under '$verdict'"
  failed=1
}
if [ "${KITH_TIER-}" = soak ]; then
  for seed in $(seq 2 20); do try --quick --seed "$seed" >/dev/null; done
  try --seed 1
fi
exit $failed
