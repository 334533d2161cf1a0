#!/bin/sh
# A wrong answer ends the bench with status 1 and says which filter gave it: fault.sh BENCH_FILTERS_FAULTY
said=$("$1" --n 1000 --kinds blocked --rounds 1 2>&1)
status=$?
[ "$status" = 1 ] || { echo "fault: status $status: $said" >&2; exit 1; }
case $said in
*"blocked of 1000 keys has lost 1"*) ;;
*) echo "fault: $said" >&2; exit 1 ;;
esac
