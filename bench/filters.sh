#!/usr/bin/env bash
# Filters beside the machine's limits and their peers: filters.sh BENCH_FILTERS [OPTION…]
#
#   --json FILE            where the figures go; bench.json beside the program
#   --svg FILE             a chart of them too
#   --compare OLD          after the run, what changed since the run in OLD
#   --compare OLD NEW      no run: what changed from OLD to NEW
#
# Other options are those of the program. Exit status: 0 done, 1 a filter gave a wrong answer, 2 used wrongly.
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
    [ -r "$old" ] || die "$old can't be read"
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
  [ ${#options[@]} -eq 0 ] || die "two files are compared without a run: ${options[*]} has no meaning"
else
  new=${json:-$(dirname "$program")/bench.json}
  # The old figures may be in the very file that the run writes.
  fresh=$(mktemp "$new.XXXXXX") || die "$new can't be written"
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
