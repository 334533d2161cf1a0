#!/bin/sh
# Tests that each installed header compiles on its own, as pedantic C11 and as C++17, and that a program with kith.hpp
# works.
# usage: headers_cxx.sh CMAKE BUILD_DIR CC CXX
set -eu
cmake=$1 build=$2 cc=$3 cxx=$4
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$cmake" --install "$build" --prefix "$tmp" >/dev/null

count=0
for header in "$tmp"/include/kith/*.h; do
  name=kith/$(basename "$header")
  # Included twice, to test the include guard.
  printf '#include <%s>\n#include <%s>\nint kith_test_unit;\n' "$name" "$name" >"$tmp/unit.c"
  "$cc" -std=c11 -pedantic -Wall -Wextra -Werror -I"$tmp/include" -fsyntax-only -x c "$tmp/unit.c"
  "$cxx" -std=c++17 -pedantic -Wall -Wextra -Werror -I"$tmp/include" -fsyntax-only -x c++ "$tmp/unit.c"
  count=$((count + 1))
done
# kith.hpp, and what its objects do.
for standard in 17 20; do
  "$cxx" -std=c++$standard -pedantic -Wall -Wextra -Wconversion -Werror -I"$tmp/include" "$here/consumer/objects.cpp" \
    "$(find "$tmp" -name libkith.a)" -lm -lpthread -o "$tmp/objects"
  "$tmp/objects" "$tmp/words.kith"
done
[ -f "$tmp/include/kith/kith.h" ] || { echo "kith/kith.h is not installed" >&2; exit 1; }
echo "$count headers compile as C11 and as C++17"
