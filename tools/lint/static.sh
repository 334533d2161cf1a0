#!/bin/sh
# The static checks of `./dev lint`, over the library. Exits with 1 if one of them finds something.
#
#     static.sh          cppcheck and clang-tidy: about a minute on 2 cores
#     static.sh --full   also gcc's -fanalyzer and clang's analyzer, which follow the paths through a function: many
#                        minutes, because most functions of the filters are inlined into one another
#
# .clang-tidy lists the checks of clang-tidy, with the reasons for those that are off. A finding that is wrong is
# suppressed in the code, with the reason, or in tools/lint/cppcheck.txt.
set -u
cd "$(dirname "$0")/../.." || exit 2
flags="-std=c11 -Iinclude -Isrc"
off=clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling # .clang-tidy says why

one() { # CHECK FILE
  case $1 in
  cppcheck)
    cppcheck --quiet --std=c11 -Iinclude -Isrc --enable=warning,portability,performance --inline-suppr \
      --suppressions-list=tools/lint/cppcheck.txt --error-exitcode=1 "$2"
    ;;
  clang-tidy) clang-tidy --quiet "$2" -- $flags ;;
  clang-analyzer) clang-tidy --quiet --checks="-*,clang-analyzer-*,-$off" "$2" -- $flags ;;
  # gcc 12 loses track of a variable that memcpy reads as a word, and takes it for uninitialised. MSan finds those.
  gcc-analyzer) gcc $flags -fanalyzer -Wno-analyzer-use-of-uninitialized-value -Werror -c "$2" -o /dev/null ;;
  esac
}

if [ "${1-}" = --one ]; then # a process of all(), below
  output=$(one "$2" "$3" 2>&1) || {
    printf '%s\n' "$output" >&2
    exit 1
  }
  exit 0
fi

failed=0
report() { # NAME COMMAND…
  name=$1
  shift
  if "$@"; then
    echo "lint: $name: ok" >&2
  else
    echo "lint: $name: FAILED" >&2
    failed=1
  fi
}

jobs=$(getconf _NPROCESSORS_ONLN)
all() { # CHECK: for each file of the library, except those of systems whose headers are not here
  find src \( -path src/os/bsd -o -path src/os/windows \) -prune -o -name '*.c' -print |
    sort | xargs -P "$jobs" -n 1 tools/lint/static.sh --one "$1"
}

report cppcheck all cppcheck
report clang-tidy all clang-tidy
if [ "${1-}" = --full ]; then
  report "gcc -fanalyzer" all gcc-analyzer
  report "clang's analyzer" all clang-analyzer
fi
exit $failed
