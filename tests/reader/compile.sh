#!/bin/sh
# Compiles kith/reader.h alone, with gcc, g++ and (if it is installed) clang, and with each of its macros, and compares
# the results of programs that use it with those of the library.
# usage: compile.sh BUILD_DIR SOURCE_DIR GOLDEN INCLUDE…
set -eu
build=$1 source=$2 golden=$3
shift 3
includes=
for folder in "$@"; do includes="$includes -isystem $folder"; done
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() { echo "reader.compile: $*" >&2; exit 1; }
c_compilers=gcc
if command -v clang >/dev/null; then c_compilers="gcc clang"; fi
command -v g++ >/dev/null || fail "g++ is not installed"

# The header is copied, so that nothing else of kith is found.
mkdir -p "$tmp/alone/kith"
cp "$build/include/kith/reader.h" "$tmp/alone/kith/"
strict="-Wall -Wextra -Wpedantic -Werror"
printf '#include <kith/reader.h>\n#include <kith/reader.h>\nint kith_test_unit;\n' >"$tmp/unit.c"

avx512="-mavx512f -mavx512bw -mavx512dq -mavx512vl"
case $(uname -m) in x86_64) x86=yes ;; *) x86=no ;; esac
count=0
compile() { # FLAG…
  for cc in $c_compilers; do
    "$cc" -std=c11 -fsyntax-only -I"$tmp/alone" $includes $strict "$@" -x c "$tmp/unit.c" || fail "$cc $*"
    count=$((count + 1))
  done
  g++ -std=c++17 -fsyntax-only -I"$tmp/alone" $includes $strict "$@" -x c++ "$tmp/unit.c" || fail "g++ $*"
  count=$((count + 1))
}
for macro in "" -DKITH_READER_NO_HASH -DKITH_NO_SIMD -DKITH_READER_LAYERS=1; do compile $macro; done
if [ $x86 = yes ]; then
  for vectors in -mavx2 "$avx512" "$avx512 -DKITH_NO_SIMD"; do compile $vectors; done
fi
cp "$source/examples/file_lookup.c" "$tmp/lookup.c"
programs=
build_one() { # NAME COMPILER FLAG…
  name=$1 compiler=$2
  shift 2
  "$compiler" "$@" -I"$tmp/alone" $includes $strict "$tmp/lookup.c" -o "$tmp/$name" || fail "$name"
  if nm -u "$tmp/$name" | grep -q ' kith'; then fail "$name needs the library"; fi
  programs="$programs $name"
}
build_one c11 gcc -std=c11 -O0
build_one plain gcc -std=c11 -O2 -DKITH_NO_SIMD
for cc in $c_compilers; do
  build_one $cc-native $cc -std=c11 -O3 -march=native
done
build_one cxx17 g++ -std=c++17 -O2 -x c++
if gcc -m32 -x c - -o "$tmp/trial" <<'END' 2>/dev/null && "$tmp/trial"; then
#include <stdio.h>
int main(void) { return 0; }
END
  build_one m32 gcc -std=c11 -O2 -m32
fi

# Kept files, and larger ones that the tests of the file format create.
seq 0 2999 | sed 's/.*/key-&\nabsent-&/' >"$tmp/keys"
files=0
for name in $(cd "$source/tests/golden" && ls *.kith) $("$golden" --list-made); do
  case $name in
  table-*) continue ;;
  large-fuse | large-ribbon | *-sparse) continue ;; # slow to make; smaller ones cover their layout
  *.kith) file=$source/tests/golden/$name ;;
  *)
    file=$tmp/made.kith
    rm -f "$file"
    "$golden" --save "$name" "$file"
    ;;
  esac
  "$golden" --lookup "$file" <"$tmp/keys" | sed 's/^yes$/maybe/' >"$tmp/want"
  for program in $programs; do
    "$tmp/$program" "$file" <"$tmp/keys" >"$tmp/got"
    cmp -s "$tmp/want" "$tmp/got" || fail "$program gives other results for $name than the library"
  done
  files=$((files + 1))
done
[ $files -ge 30 ] || fail "only $files files"
echo "$count ways to compile it; the programs$programs agree with the library on $files files"
