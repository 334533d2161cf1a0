#!/bin/sh
# Tests that a program outside the source tree can be built with the installed library and runs: with pkg-config and
# with find_package, shared and static, after the installed tree has been moved.
# usage: consumer.sh CMAKE BUILD_DIR CC SOVERSION
set -eu
cmake=$1 build=$2 cc=$3 soversion=$4
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() { echo "install.consumer: $*" >&2; exit 1; }

"$cmake" --install "$build" --prefix "$tmp/first" >/dev/null
mv "$tmp/first" "$tmp/moved"
prefix=$tmp/moved
cp -r "$here/consumer" "$tmp/consumer"
libdir=$(dirname "$(find "$prefix" -name libkith.a)")
shared=$libdir/libkith.so
version=$(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --modversion kith)

readelf -d "$shared" | grep -q "SONAME.*\[libkith\.so\.$soversion\]" || fail "soname is not libkith.so.$soversion"
foreign=$(nm -D --defined-only "$shared" | awk '{ sub(/@.*/, "", $3); if ($3 !~ /^kith_/) print $3 }')
[ -z "$foreign" ] || fail "the shared library exports more than kith_:" $foreign
foreign=$(nm -g --defined-only "$libdir/libkith.a" | awk 'NF == 3 && $3 !~ /^kithi?_/ { print $3 }')
[ -z "$foreign" ] || fail "the static library defines more than kith_ and kithi_:" $foreign

export PKG_CONFIG_PATH="$libdir/pkgconfig"
cd "$tmp/consumer"
flags="-std=c11 -Wall -Wextra -Werror"

"$cc" $flags main.c $(pkg-config --cflags --libs kith) -o shared
readelf -d shared | grep -q "NEEDED.*\[libkith\.so\.$soversion\]" || fail "the program does not need the soname"
LD_LIBRARY_PATH=$libdir ./shared "$version" || fail "pkg-config, shared: exit $?"

"$cmake" -S . -B by_cmake -G Ninja -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$prefix" >cmake.log 2>&1 &&
  "$cmake" --build by_cmake >>cmake.log 2>&1 || { cat cmake.log >&2; fail "find_package(kith)"; }
./by_cmake/consumer_shared "$version" || fail "find_package, kith::kith: exit $?"
./by_cmake/consumer_static "$version" || fail "find_package, kith::static: exit $?"

# Without the shared library, -lkith links the static one.
rm "$libdir"/libkith.so*
"$cc" $flags main.c $(pkg-config --static --cflags --libs kith) -o static
./static "$version" || fail "pkg-config --static: exit $?"
echo "kith $version: shared and static, pkg-config and find_package"
