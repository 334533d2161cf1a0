#!/bin/sh
# Tests that a wrong result ends the benchmark with status 1 and a message that names the filter: fault.sh
# BENCH_FILTERS_FAULTY
output=$("$1" --n 1000 --kinds blocked --rounds 1 2>&1)
status=$?
[ "$status" = 1 ] || { echo "fault: status $status: $output" >&2; exit 1; }
case $output in
*"blocked of 1000 keys has lost 1"*) ;;
*) echo "fault: $output" >&2; exit 1 ;;
esac
