#!/bin/sh
# Tests that each installed header compiles on its own, as pedantic C11 and as C++17, where no other header than those
# of the C library is installed; that a program with kith.hpp works, and one with kith/reader.h alone.
# usage: headers_cxx.sh CMAKE BUILD_DIR CC CXX
set -eu
cmake=$1 build=$2 cc=$3 cxx=$4
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$cmake" --install "$build" --prefix "$tmp" >/dev/null

# Found first, in place of the one that the library was built with.
mkdir "$tmp/no-xxhash"
echo '#error "xxhash.h is included"' >"$tmp/no-xxhash/xxhash.h"
found="-I$tmp/no-xxhash -I$tmp/include"

count=0
for header in "$tmp"/include/kith/*.h; do
  name=kith/$(basename "$header")
  # Included twice, to test the include guard.
  printf '#include <%s>\n#include <%s>\nint kith_test_unit;\n' "$name" "$name" >"$tmp/unit.c"
  "$cc" -std=c11 -pedantic -Wall -Wextra -Werror $found -fsyntax-only -x c "$tmp/unit.c"
  "$cxx" -std=c++17 -pedantic -Wall -Wextra -Werror $found -fsyntax-only -x c++ "$tmp/unit.c"
  count=$((count + 1))
done
# kith.hpp, and what its objects do.
for standard in 17 20; do
  "$cxx" -std=c++$standard -pedantic -Wall -Wextra -Wconversion -Werror $found "$here/consumer/objects.cpp" \
    "$(find "$tmp" -name libkith.a)" -lm -lpthread -o "$tmp/objects"
  "$tmp/objects" "$tmp/words.kith"
done
[ -f "$tmp/include/kith/kith.h" ] || { echo "kith/kith.h is not installed" >&2; exit 1; }
lookup=$here/../../examples/file_lookup.c
"$cc" -std=c11 -pedantic -Wall -Wextra -Werror $found "$lookup" -o "$tmp/c11"
"$cxx" -std=c++17 -pedantic -Wall -Wextra -Werror $found -x c++ "$lookup" -o "$tmp/cxx17"
for program in c11 cxx17; do
  [ "$("$tmp/$program" "$here/../golden/bloom.kith" key-1 absent | tr '\n' ' ')" = 'maybe no ' ] ||
    { echo "install.headers_cxx: $program does not find its key" >&2; exit 1; }
done
echo "$count headers compile as C11 and as C++17"
