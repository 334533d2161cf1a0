#!/bin/sh
# Checks that every function that the tool imports is in calls.def, where it can be made to fail, or in harmless.txt,
# which says why that is not necessary: imports.sh NM KITH
set -u
here=$(dirname "$0")
known=$(sed -n 's/^CALL(\([a-z0-9_]*\),.*/\1/p' "$here/calls.def"; sed -n '/^#/,$p' "$here/harmless.txt" | grep -v '^#')
imported=$("$1" -D --undefined-only "$2" | awk '{ sub(/@.*/, "", $2); print $2 }')
[ -n "$imported" ] || exit 2
missing=0
for name in $imported; do
  case " $(echo $known) " in
  *" $name "*) ;;
  *) echo "$name: is neither in calls.def nor in harmless.txt" && missing=1 ;;
  esac
done
exit $missing
