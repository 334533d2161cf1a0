#!/bin/bash
# Tests that the programs of README.md compile with an installed library, by pkg-config and by CMake, and work. A block
# without main() is the body of one.
# usage: readme.sh CMAKE BUILD_DIR SOURCE_DIR COMPILER…    such as 'gcc -std=c11' 'g++ -std=c++17 -x c++'
set -euo pipefail
cmake=$1 build=$2 source=$3
shift 3
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() { echo "install.readme: $*" >&2; exit 1; }

"$cmake" --install "$build" --prefix "$tmp/kith" >/dev/null
libdir=$(dirname "$(find "$tmp/kith" -name libkith.a)")
export PKG_CONFIG_PATH=$libdir/pkgconfig
cd "$tmp"
awk '
  /^```/ && inside { if (!whole) print "}" > file; close(file); inside = 0; next }
  /^```c$/ { inside = 1; file = "c" ++count ".c"; header = "kith.h" }
  /^```cpp$/ { inside = 1; file = "cpp" ++count ".cpp"; header = "kith.hpp" }
  /^```/ { first = 1; next }
  inside && first { whole = /^#include/; if (!whole) printf "#include <kith/%s>\nint main(void) {\n", header > file }
  inside { print > file; first = 0 }' "$source/README.md"
[ "$(ls c*.c)" = "$(printf 'c1.c\nc2.c\nc4.c')" ] && [ -f cpp3.cpp ] || fail "other programs:" ./*.c ./*.cpp
[ "$(wc -l <c1.c)" -le 9 ] || fail "the first program has more than 9 lines"
[ "$(wc -l <c2.c)" -le 6 ] || fail "the program with an array has more than 6 lines"

works() { # PROGRAM
  rm -f birds.kith
  "$1" >out || fail "$1: exit $?"
  case $1 in
  *c1) [ "$(cat out)" = maybe ] || fail "$1 prints $(cat out)" ;;
  *c2 | *cpp3) [ "$(head -c 5 birds.kith | tail -c 4)" = KITH ] || fail "$1 writes no filter" ;;
  esac
}

count=0
for compiler in "$@"; do
  command -v "${compiler%% *}" >/dev/null || fail "${compiler%% *} is not installed"
  case $compiler in
  *++*) programs='c1.c c2.c cpp3.cpp c4.c' ;;
  *) programs='c1.c c2.c c4.c' ;;
  esac
  for program in $programs; do
    $compiler -Wall -Wextra -Werror "$program" $(pkg-config --cflags --libs kith) -Wl,-rpath,"$libdir" \
      -o "by_${program%.*}" || fail "$compiler $program"
    works "./by_${program%.*}"
    count=$((count + 1))
  done
done

compiler=$1
{
  printf 'cmake_minimum_required(VERSION 3.21)\nproject(programs LANGUAGES C)\nfind_package(kith REQUIRED)\n'
  for program in c1 c2 c4; do
    printf 'add_executable(%s %s.c)\ntarget_link_libraries(%s kith::kith)\n' $program $program $program
    printf 'add_executable(static_%s %s.c)\ntarget_link_libraries(static_%s kith::static)\n' $program $program $program
  done
} >CMakeLists.txt
"$cmake" -S . -B by_cmake -G Ninja -DCMAKE_C_COMPILER="${compiler%% *}" -DCMAKE_C_FLAGS="${compiler#* }" \
  -DCMAKE_PREFIX_PATH="$tmp/kith" >log 2>&1 && "$cmake" --build by_cmake >>log 2>&1 || { cat log >&2; fail CMake; }
for program in c1 c2 c4 static_c1 static_c2 static_c4; do
  works by_cmake/$program
  count=$((count + 1))
done
echo "$count programs"
