#!/bin/sh
# Compares the reader that was written from docs/format.md with the library, on every golden file and on larger files
# that are created here. Filters: both must say yes for every member (every tenth one if there are more than a million)
# and for the pinned false positives, and must agree on 2000 absent keys. Tables: the reader must find every key with
# its value, and no other key. If a bit of a table or of a filter of a cuckoo kind is changed and the checksums are
# recomputed, the reader must refuse or open the file just as the library does. It must refuse damaged files.
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
  "$golden" --members "$1" >"$work/all"
  awk -v step=$(($(wc -l <"$work/all") > 1000000 ? 10 : 1)) 'NR % step == 0' "$work/all" >"$work/members"
  "$reader" "$2" <"$work/members" >"$work/by_reader"
  all_yes "$work/by_reader" "$1: members by the reader"
  [ "$(wc -l <"$work/members")" -eq "$(wc -l <"$work/by_reader")" ] || fail "$1: not one line per key"

  "$golden" --lookup "$2" <"$work/absent" >"$work/by_library"
  "$reader" "$2" <"$work/absent" >"$work/by_reader"
  [ "$(wc -l <"$work/by_library")" -eq 2000 ] || fail "$1: the library did not print 2000 lines"
  cmp "$work/by_library" "$work/by_reader" >&2 || fail "$1: the reader and the library disagree"
  echo "ok      $1: $(wc -l <"$work/members") members, $(grep -c yes "$work/by_reader") of 2000 absent keys yes"
}

compare_table() { # NAME FILE
  "$tables" --expected "$1" >"$work/expected"
  cut -d ' ' -f 1 "$work/expected" | "$reader" "$2" >"$work/by_reader"
  cut -d ' ' -f 2 "$work/expected" >"$work/expected_results"
  cmp "$work/expected_results" "$work/by_reader" >&2 || fail "$1: the reader finds other keys or values"
  echo "ok      $1: $(grep -vc no "$work/by_reader") keys present, $(grep -c no "$work/by_reader") absent"
}

# Tampers with many bits, one per file, and recomputes the checksums. The library and the reader must both open the file
# or both refuse it. In the header and the first 64 bytes of the body, where entries have their options: a bit of the
# first two bytes and of the last byte of each u64, and of all option bytes of an image; but not of checksums, nor of
# the high byte of the capacity, which would ask for too much memory. In the rest of the body: a bit of every STEP-th
# byte.
tamper_all() { # NAME FILE BYTES STEP
  offset=8
  while [ $offset -lt 256 ]; do
    case $offset,$((offset % 8)) in
    71,* | 17[6-9],* | 18?,* | 19[01],*) ;;
    15[2-7],* | *,[017]) echo $offset $((offset % 7)) ;;
    esac
    offset=$((offset + 1))
  done >"$work/bits"
  while [ $offset -lt $(($3 - 8)) ]; do
    echo $offset $((offset % 7))
    offset=$((offset + $4))
  done >>"$work/bits"
  mkdir "$work/tampered"
  "$tables" --tamper "$2" "$work/tampered" <"$work/bits" >"$work/by_library"
  (cd "$work/tampered" && "$reader" --verdicts $(cut -d ' ' -f 1 "$work/bits")) >"$work/by_reader" 2>"$work/why" ||
    fail "$1: the reader: $(tail -1 "$work/why")"
  [ "$(wc -l <"$work/by_library")" -eq "$(wc -l <"$work/bits")" ] || fail "$1: not one verdict per bit"
  cmp "$work/by_library" "$work/by_reader" >&2 || {
    paste -d ' ' "$work/bits" "$work/by_library" "$work/by_reader" | awk '$3 != $4' >&2
    fail "$1: the library and the reader disagree (byte, bit, library, reader)"
  }
  rm -r "$work/tampered"
  opened=$(grep -c opened "$work/by_reader") refused=$(grep -c refused "$work/by_reader")
  [ "$opened" -ge 5 ] && [ "$refused" -ge 50 ] || fail "$1: only $opened tampered files opened, $refused refused"
  echo "ok      $1: both open $opened tampered files and refuse $refused"
}

seq -f 'absent-%g' 0 1999 >"$work/absent"

files=0 table_files=0
for file in "$folder"/*.kith; do
  name=$(basename "$file" .kith)
  bytes=$(wc -c <"$file")
  case $name in
  table-*)
    table_files=$((table_files + 1))
    compare_table "$name" "$file"
    tamper_all "$name" "$file" "$bytes" 29
    ;;
  *)
    files=$((files + 1))
    compare "$name" "$file"
    awk -v file="$name.kith" '$1 == file { print $2 }' "$folder/false_positives.txt" >"$work/pinned"
    [ "$(wc -l <"$work/pinned")" -eq 10 ] || fail "$name: false_positives.txt does not have ten lines for it"
    "$reader" "$file" <"$work/pinned" >"$work/by_reader"
    all_yes "$work/by_reader" "$name: pinned false positives by the reader"
    case $name in *overlap* | *cuckoo*) tamper_all "$name" "$file" "$bytes" 3 ;; esac
    ;;
  esac

  # The names of the files say what was done to them.
  mkdir "$work/damaged"
  : >"$work/damaged/empty"
  head -c $((bytes - 1)) "$file" >"$work/damaged/without-its-last-byte"
  { cat "$file" && printf x; } >"$work/damaged/with-another-byte"
  echo 0 8 10 14 80 104 168 176 184 192 $((bytes / 2)) $((bytes - 1)) | "$tables" --damage "$file" "$work/damaged"
  (cd "$work/damaged" && "$reader" --verdicts *) >"$work/by_reader" 2>/dev/null || fail "$name: the reader failed"
  opened=$(ls "$work/damaged" | paste -d ' ' - "$work/by_reader" | grep -v ' refused$') &&
    fail "$name: not refused: $opened"
  rm -r "$work/damaged"
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
