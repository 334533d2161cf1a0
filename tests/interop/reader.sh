#!/bin/sh
# Compares the reader that was written from docs/format.md with the library, on every golden file and on larger files
# that are created here. Filters: both must say yes for every member and for the pinned false positives, and must agree
# on 2000 absent keys. Tables: the reader must find every key with its value, and no other key. If a bit of a table is
# changed and the checksums are recomputed, the reader must refuse or open the file just as the library does. It must
# refuse damaged files.
# usage: reader.sh GOLDEN GOLDEN_TABLES READER GOLDEN_FOLDER   in a folder where it may write.
set -eu
golden=$1 tables=$2 reader=$3 folder=$4
work=$(mktemp -d "$PWD/interop.XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() { echo "FAILED: $*" >&2; exit 1; }

# Fails unless every line of the file is "yes".
all_yes() { # FILE WHAT
  [ -s "$1" ] || fail "$2: no output"
  if grep -qvx yes "$1"; then fail "$2: line $(grep -nvxm1 yes "$1" | cut -d: -f1) is not yes"; fi
}

compare() { # NAME FILE
  "$golden" --members "$1" >"$work/members"
  "$reader" "$2" <"$work/members" >"$work/by_reader"
  all_yes "$work/by_reader" "$1: members by the reader"
  [ "$(wc -l <"$work/members")" -eq "$(wc -l <"$work/by_reader")" ] || fail "$1: not one line per key"

  "$golden" --answers "$2" <"$work/absent" >"$work/by_library"
  "$reader" "$2" <"$work/absent" >"$work/by_reader"
  [ "$(wc -l <"$work/by_library")" -eq 2000 ] || fail "$1: the library did not print 2000 lines"
  cmp "$work/by_library" "$work/by_reader" >&2 || fail "$1: the reader and the library disagree"
  echo "ok      $1: $(wc -l <"$work/members") members, $(grep -c yes "$work/by_reader") of 2000 absent keys yes"
}

compare_table() { # NAME FILE
  "$tables" --expected "$1" >"$work/expected"
  cut -d ' ' -f 1 "$work/expected" | "$reader" "$2" >"$work/by_reader"
  cut -d ' ' -f 2 "$work/expected" >"$work/answers"
  cmp "$work/answers" "$work/by_reader" >&2 || fail "$1: the reader finds other keys or values"
  echo "ok      $1: $(grep -vc no "$work/by_reader") keys present, $(grep -c no "$work/by_reader") absent"
}

# Changes one bit of a file and recomputes the checksums. The library and the reader must both open it or both refuse
# it.
tamper() { # NAME FILE OFFSET BIT
  verdict=$("$tables" --tamper "$2" "$3" "$4" "$work/tampered.kith")
  status=0
  "$reader" "$work/tampered.kith" </dev/null 2>"$work/why" || status=$?
  case $verdict$status in
  opened0) opened=$((opened + 1)) ;;
  refused1) refused=$((refused + 1)) ;;
  *) fail "$1, bit $4 of byte $3: $verdict by the library, exit status $status of the reader: $(cat "$work/why")" ;;
  esac
}

# Tampers with many bits, one per file. In the header and the first 64 bytes of the body, where entries have their
# options: a bit of the first two bytes and of the last byte of each u64, and of all option bytes of an image; but not
# of checksums, nor of the high byte of the capacity, which would ask for too much memory. In the rest of the body: a
# bit of every 29th byte.
tamper_all() { # NAME FILE BYTES
  opened=0 refused=0 offset=8
  while [ $offset -lt 256 ]; do
    case $offset,$((offset % 8)) in
    71,* | 17[6-9],* | 18?,* | 19[01],*) ;;
    15[2-7],* | *,[017]) tamper "$1" "$2" $offset $((offset % 7)) ;;
    esac
    offset=$((offset + 1))
  done
  while [ $offset -lt $(($3 - 8)) ]; do
    tamper "$1" "$2" $offset $((offset % 7))
    offset=$((offset + 29))
  done
  [ $opened -ge 5 ] && [ $refused -ge 50 ] || fail "$1: only $opened tampered files opened, $refused refused"
  echo "ok      $1: both open $opened tampered files and refuse $refused"
}

# Fails unless the reader refuses the file $work/damaged.
refused() { # WHAT
  status=0
  "$reader" "$work/damaged" </dev/null 2>/dev/null || status=$?
  [ "$status" -eq 1 ] || fail "$1: exit status $status instead of 1"
}

# Copies a file to $work/damaged and changes the byte at an offset.
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

files=0 table_files=0
for file in "$folder"/*.kith; do
  name=$(basename "$file" .kith)
  bytes=$(wc -c <"$file")
  case $name in
  table-*)
    table_files=$((table_files + 1))
    compare_table "$name" "$file"
    tamper_all "$name" "$file" "$bytes"
    ;;
  *)
    files=$((files + 1))
    compare "$name" "$file"
    awk -v file="$name.kith" '$1 == file { print $2 }' "$folder/answers.txt" >"$work/pinned"
    [ "$(wc -l <"$work/pinned")" -eq 10 ] || fail "$name: answers.txt does not have ten lines for it"
    "$reader" "$file" <"$work/pinned" >"$work/by_reader"
    all_yes "$work/by_reader" "$name: pinned false positives by the reader"
    ;;
  esac

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
[ $files -ge 10 ] && [ $table_files -ge 6 ] || fail "only $files golden filters and $table_files tables in $folder"

# Both must refuse a file whose layers claim more than they have, and both must open it when nothing was forged.
for what in nothing capacities capacity rate; do
  verdict=$("$golden" --forge $what "$folder/layers.kith" "$work/forged.kith")
  status=0
  "$reader" "$work/forged.kith" </dev/null 2>"$work/why" || status=$?
  case $what,$verdict,$status in
  nothing,opened,0 | c*,refused,1 | rate,refused,1) ;;
  *) fail "forged $what: $verdict by the library, exit status $status of the reader: $(cat "$work/why")" ;;
  esac
done

for name in $("$golden" --list-made); do
  "$golden" --save "$name" "$work/made.kith"
  compare "$name" "$work/made.kith"
done

for name in $("$tables" --list-made); do
  "$tables" --save "$name" "$work/made.kith"
  compare_table "$name" "$work/made.kith"
done
