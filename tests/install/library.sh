#!/bin/sh
# Tests that the commands of docs/library.md for an installed library work as they are printed there.
# usage: library.sh CMAKE BUILD_DIR SOURCE_DIR CC
set -eu
cmake=$1 build=$2 source=$3 cc=$4
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() { echo "install.library: $*" >&2; exit 1; }

# Prints the blocks of a language in the section "An example", one after the other.
blocks() { # LANGUAGE
  awk -v language="$1" '
    /^## / { here = $0 == "## An example" }
    /^```/ { inside = here && $0 == "```" language; next }
    inside' "$source/docs/library.md"
}

# The commands find the build in build/release, and the compilers and CMake of this build as cc and cmake.
mkdir "$tmp/bin" "$tmp/build" "$tmp/home"
ln -s "$build" "$tmp/build/release"
ln -s "$(command -v "$cc")" "$tmp/bin/cc"
ln -s "$(command -v "$cmake")" "$tmp/bin/cmake"
export PATH="$tmp/bin:$PATH" HOME="$tmp/home"
unset PKG_CONFIG_PATH LD_LIBRARY_PATH
cd "$tmp"
blocks c >example.c

# The first command is for a library that is installed where everybody looks; the second block names another place.
blocks sh | sed -n '/^DIR=/,$p' >commands
[ "$(grep -c '^cc ' commands)" = 3 ] || fail "docs/library.md does not have the three ways to link"
sh -eu commands >out 2>&1 || { cat out >&2; fail "the commands of docs/library.md fail"; }
[ "$(grep -c 'seen before' out)" = 3 ] || { cat out >&2; fail "the example did not run three times"; }

mkdir by_cmake
{
  printf 'cmake_minimum_required(VERSION 3.21)\nproject(example LANGUAGES C)\nset(CMAKE_C_STANDARD 11)\n'
  printf 'add_executable(example ../example.c)\n'
  blocks cmake
} >by_cmake/CMakeLists.txt
for library in kith::kith kith::static; do
  grep -q "$library" "$source/docs/library.md" || fail "docs/library.md does not name $library"
  sed "s/kith::kith/$library/" by_cmake/CMakeLists.txt >lists && cp lists by_cmake/CMakeLists.txt
  cmake -S by_cmake -B by_cmake/build -G Ninja -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$HOME/kith" >out 2>&1 &&
    cmake --build by_cmake/build >>out 2>&1 || { cat out >&2; fail "$library"; }
  ./by_cmake/build/example >/dev/null || fail "the example with $library: exit $?"
done

# The address in kith.pc is that of a file that was installed, wherever the folder is moved.
mv "$HOME/kith" "$HOME/moved"
pc=$HOME/moved/lib/pkgconfig/kith.pc
url=$(sed -n 's/^URL: //p' "$pc")
case $url in
file://*)
  prefix=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --variable=prefix kith)
  [ -f "$(printf '%s' "$url" | sed "s|^file://\${prefix}|$prefix|")" ] || fail "there is no $url in $prefix"
  ;;
https://?*) ;;
*) fail "the URL of kith.pc is '$url'" ;;
esac
echo "3 ways with pkg-config, 2 with CMake"
