#!/bin/sh
# Compares the second reader with the tool on sets of numbers and UUIDs: both find the same keys, and refuse the same
# lines. usage: keys.sh KITH READER   in a folder where it may write.
set -eu
kith=$1 reader=$2
work=$(mktemp -d "$PWD/interop.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() { echo "FAILED: $*" >&2; exit 1; }

least=-9223372036854775808 most=9223372036854775807 all=18446744073709551615
uuid=123e4567-e89b-12d3-a456-426614174000
{ seq -300 300; printf '%s\n' $least $most; } >int.keys
{ seq 0 600; printf '%s\n' $all 9223372036854775808; } >uint.keys
{
  printf '%s\n' $uuid ffffffff-ffff-ffff-ffff-ffffffffffff
  seq -f '%08.0f-0000-4000-8000-000000000000' 0 600
} >uuid.keys
# Keys, keys that are absent, and lines that are none.
{
  cat int.keys uint.keys uuid.keys
  seq -2000 13 2000
  seq -f '%08.0f-0000-4000-8000-000000000001' 0 600
  tr a-f A-F <uuid.keys
  printf '%s\n' '' - -0 00 +1 ' 1' '1 ' 1.0 1e3 0x10 x 9223372036854775809 -9223372036854775809 18446744073709551616 \
    99999999999999999999999 "{$uuid}" 123e4567e89b12d3a456426614174000 ${uuid}0 g23e4567-e89b-12d3-a456-426614174000
} >lines

for type in int uint uuid; do
  for hash in '' --untrusted; do
    "$kith" build -o set.kith --$type $hash -k cuckoo -p 1e-6 $type.keys
    "$reader" set.kith <lines >by_reader
    paste by_reader lines | sed -n 's/^yes\t/maybe\t/p; s/^no\t/no\t/p' >by_reader_marked
    "$kith" query --mark --skip-bad set.kith lines >by_tool 2>skipped
    cmp by_tool by_reader_marked || fail "$type $hash: the tool and the reader differ"
    "$reader" set.kith <$type.keys >members
    if grep -qvx yes members; then fail "$type $hash: a member is not found"; fi
    for result in yes no 'no key'; do grep -qx "$result" by_reader || fail "$type $hash: never '$result'"; done
    echo "ok      $type $hash: $(wc -l <by_reader) lines, $(grep -cx yes by_reader) yes, $(grep -cx no by_reader) no"
  done
done
