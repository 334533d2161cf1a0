#!/bin/sh
# Compiles kith/reader.h alone, with gcc, g++ and (if it is installed) clang, and with each of its macros, and compares
# the results of programs that use it with those of the library.
# usage: compile.sh BUILD_DIR SOURCE_DIR GOLDEN XXHASH_FOLDER
set -eu
build=$1 source=$2 golden=$3 xxhash=$4
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
compile() { # FLAG…; each compiler, without code generation
  for cc in $c_compilers; do
    "$cc" -std=c11 -fsyntax-only $includes $strict "$@" -x c "$tmp/unit.c" || fail "$cc $*"
    count=$((count + 1))
  done
  g++ -std=c++17 -fsyntax-only $includes $strict "$@" -x c++ "$tmp/unit.c" || fail "g++ $*"
  count=$((count + 1))
}

# Found before any other xxhash.h, so nothing compiles that includes it.
mkdir "$tmp/no-xxhash"
echo '#error "xxhash.h is included"' >"$tmp/no-xxhash/xxhash.h"
includes="-I$tmp/no-xxhash -I$tmp/alone"
printf '#include <xxhash.h>\n' >"$tmp/with.c"
if gcc -E $includes "$tmp/with.c" >"$tmp/out" 2>&1; then fail "the folder without xxHash does not hide it"; fi

compile -DKITH_READER_NO_HASH
compile -DKITH_READER_LAYERS=1
# The programs below are compiled without a macro and with KITH_NO_SIMD, for the baseline of x86-64.
if [ $x86 = yes ]; then
  for vectors in -mavx2 "$avx512" "$avx512 -DKITH_NO_SIMD"; do compile $vectors; done
else
  for macro in "" -DKITH_NO_SIMD; do compile $macro; done
fi
programs=
build_one() { # NAME SOURCE COMPILER FLAG…
  name=$1 from=$2 compiler=$3
  shift 3
  "$compiler" "$@" $strict "$source/$from" -o "$tmp/$name" || fail "$name"
  if nm -u "$tmp/$name" | grep -q ' kith'; then fail "$name needs the library"; fi
}
build_lookup() { # NAME COMPILER FLAG…
  lookup=$1
  shift
  build_one "$lookup" examples/file_lookup.c "$@" $includes
  programs="$programs $lookup"
  build_one "hashes-$lookup" tests/reader/hashes.c "$@" -I"$tmp/alone" -isystem "$xxhash"
  "$tmp/hashes-$lookup" || fail "$lookup: XXH3 differs from that of xxHash"
}
build_lookup c11 gcc -std=c11 -O0
build_lookup plain gcc -std=c11 -O2 -DKITH_NO_SIMD
for cc in $c_compilers; do
  build_lookup $cc-native $cc -std=c11 -O3 -march=native
done
build_lookup cxx17 g++ -std=c++17 -O2 -x c++
if gcc -m32 -x c - -o "$tmp/trial" <<'END' 2>/dev/null && "$tmp/trial"; then
#include <stdio.h>
int main(void) { return 0; }
END
  build_lookup m32 gcc -std=c11 -O2 -m32
fi
for layers in 64 1; do
  build_one digests-$layers tests/reader/digests.c gcc -std=c11 -O0 $includes -DKITH_READER_LAYERS=$layers
done

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
  "$golden" --digests "$file" <"$tmp/keys" >"$tmp/digests"
  "$tmp/digests-64" "$file" <"$tmp/digests" >"$tmp/got" || fail "without hash functions, $name cannot be opened"
  cmp -s "$tmp/want" "$tmp/got" || fail "without hash functions, digests give other results for $name than keys"
  files=$((files + 1))
done
[ $files -ge 30 ] || fail "only $files files"

# A reader with space for one layer: it opens other kinds, and refuses a file with three layers.
"$golden" --digests "$source/tests/golden/overlap.kith" <"$tmp/keys" >"$tmp/digests"
for layers in 64 1; do
  "$tmp/digests-$layers" "$source/tests/golden/overlap.kith" <"$tmp/digests" >"$tmp/got-$layers" ||
    fail "with KITH_READER_LAYERS=$layers, overlap.kith cannot be opened"
done
cmp -s "$tmp/got-64" "$tmp/got-1" || fail "the results depend on KITH_READER_LAYERS"
code=0
"$tmp/digests-1" "$source/tests/golden/layers.kith" </dev/null || code=$?
[ $code = 3 ] || fail "a file with more than KITH_READER_LAYERS layers: exit status $code instead of 3"
echo "$count ways to compile it; the programs$programs agree with the library on $files files"
