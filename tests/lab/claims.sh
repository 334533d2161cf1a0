#!/usr/bin/env bash
# A claim must hold, whatever the seed: claims.sh KITH CLAIM
# One quick run; in the long tier (KITH_TIER=soak) 20 of them with other seeds, and one in full.
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
