#!/bin/sh
# The reader written from docs/format.md against the library: over every golden file, and over larger filters made here,
# both say yes for every member, for the pinned false positives, and the same for 2000 absent keys; and the reader
# refuses damaged files.
# usage: reader.sh GOLDEN READER GOLDEN_FOLDER   in a folder where it may write.
set -eu
golden=$1 reader=$2 folder=$3
work=$(mktemp -d "$PWD/interop.XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() { echo "FAILED: $*" >&2; exit 1; }

# Every line of the file is a yes.
all_yes() { # FILE WHAT
  [ -s "$1" ] || fail "$2: no answers"
  if grep -qvx yes "$1"; then fail "$2: line $(grep -nvxm1 yes "$1" | cut -d: -f1) is a no"; fi
}

compare() { # NAME FILE
  "$golden" --members "$1" >"$work/members"
  "$reader" "$2" <"$work/members" >"$work/by_reader"
  all_yes "$work/by_reader" "$1: members by the reader"
  [ "$(wc -l <"$work/members")" -eq "$(wc -l <"$work/by_reader")" ] || fail "$1: a key without an answer"

  "$golden" --answers "$2" <"$work/absent" >"$work/by_library"
  "$reader" "$2" <"$work/absent" >"$work/by_reader"
  [ "$(wc -l <"$work/by_library")" -eq 2000 ] || fail "$1: the library gave not 2000 answers"
  cmp "$work/by_library" "$work/by_reader" >&2 || fail "$1: the reader and the library disagree"
  echo "ok      $1: $(wc -l <"$work/members") members, $(grep -c yes "$work/by_reader") of 2000 absent keys yes"
}

refused() { # WHAT: the file $work/damaged
  status=0
  "$reader" "$work/damaged" </dev/null 2>/dev/null || status=$?
  [ "$status" -eq 1 ] || fail "$1: exit status $status instead of 1"
}

# Another value for the byte at an offset.
damage() { # FILE OFFSET
  cp "$1" "$work/damaged"
  chmod u+w "$work/damaged"
  byte=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
  printf "\\$(printf %03o $(((byte + 1) % 256)))" | dd of="$work/damaged" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

i=0
while [ $i -lt 2000 ]; do
  echo "absent-$i"
  i=$((i + 1))
done >"$work/absent"

files=0
for file in "$folder"/*.kith; do
  name=$(basename "$file" .kith)
  files=$((files + 1))
  compare "$name" "$file"

  awk -v file="$name.kith" '$1 == file { print $2 }' "$folder/answers.txt" >"$work/pinned"
  [ "$(wc -l <"$work/pinned")" -eq 10 ] || fail "$name: answers.txt has not ten answers for it"
  "$reader" "$file" <"$work/pinned" >"$work/by_reader"
  all_yes "$work/by_reader" "$name: pinned false positives by the reader"

  bytes=$(wc -c <"$file")
  : >"$work/damaged"
  refused "an empty file"
  head -c $((bytes - 1)) "$file" >"$work/damaged"
  refused "$name without its last byte"
  { cat "$file" && printf x; } >"$work/damaged"
  refused "$name and a byte"
  for offset in 0 8 10 14 80 104 168 176 184 192 $((bytes / 2)) $((bytes - 1)); do
    damage "$file" "$offset"
    refused "$name with byte $offset changed"
  done
done
[ $files -ge 10 ] || fail "only $files golden files in $folder"

for name in $("$golden" --list-made); do
  "$golden" --save "$name" "$work/made.kith"
  compare "$name" "$work/made.kith"
done
