#!/usr/bin/env bash
# Compares filters with the machine's limits and with their peers: filters.sh BENCH_FILTERS [OPTION…]
#
#   --json FILE            write the figures to FILE (default: bench.json next to the program)
#   --svg FILE             also draw a chart
#   --compare OLD          after the run, show what changed since the run in OLD
#   --compare OLD NEW      do not run; show what changed from OLD to NEW
#
# Other options are passed to the program. Exit status: 0 done, 1 a filter returned a wrong result, 2 invalid usage.
set -euo pipefail
program=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
shift
die() { echo "bench: $*" >&2; exit 2; }

json='' svg='' old='' new='' options=()
while [ $# -gt 0 ]; do
  case $1 in
  --json | --svg | --compare) [ $# -gt 1 ] || die "$1 needs a file" ;;
  esac
  case $1 in
  --json) json=$2; shift ;;
  --svg) svg=$2; shift ;;
  --compare)
    old=$2
    shift
    if [ $# -gt 1 ] && [ "${2#--}" = "$2" ]; then
      new=$2
      shift
    fi
    [ -r "$old" ] || die "cannot read $old; to make it, run the benchmark with --json $old before the change"
    ;;
  --help)
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
    exec "$program" --help
    ;;
  *) options+=("$1") ;;
  esac
  shift
done

if [ -n "$new" ]; then
  [ ${#options[@]} -eq 0 ] ||
    die "--compare with two files does not run the benchmark, so it does not accept ${options[*]}"
else
  new=${json:-$(dirname "$program")/bench.json}
  # A temporary file, because the old figures may be in the file that the run replaces.
  fresh=$(mktemp "$new.XXXXXX") || die "cannot write $new"
  trap 'rm -f "$fresh"' EXIT
  "$program" --json "$fresh" ${options[@]+"${options[@]}"}
fi
status=0
[ -z "$svg" ] || python3 "$here/chart.py" "${fresh:-$new}" "$svg" || status=$?
[ -z "$old" ] || python3 "$here/compare.py" "$old" "${fresh:-$new}" || status=$?
if [ -n "${fresh:-}" ]; then
  chmod 644 "$fresh"
  mv "$fresh" "$new"
  echo "bench: figures in $new" >&2
fi
exit $status
