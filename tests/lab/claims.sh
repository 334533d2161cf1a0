#!/usr/bin/env bash
# Checks that a claim does not fail: claims.sh KITH CLAIM
# Runs it once with --quick. In the long tier (KITH_TIER=soak) also with 19 other seeds, and once in full.
set -u
kith=$1 claim=$2 failed=0

try() { # OPTION…
  "$kith" lab --threads 1 "$@" "$claim" 2>/dev/null || {
    echo "FAILED: kith lab $* $claim"
    failed=1
  }
}

try --quick --seed 1
if [ "${KITH_TIER-}" = soak ]; then
  for seed in $(seq 2 20); do try --quick --seed "$seed" >/dev/null; done
  try --seed 1
fi
exit $failed
