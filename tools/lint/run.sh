#!/bin/sh
# The checks of `./dev lint`. Exits with 1 if one of them finds something. --full adds the slow ones of static.sh.
set -u
cd "$(dirname "$0")/../.." || exit 2
failed=0
report() { echo "lint: $1: $2" >&2; [ "$2" = ok ] || failed=1; }

sources() {
  for folder in "$@"; do
    [ ! -d "$folder" ] || find "$folder" -name '*.[ch]'
  done | sort
}

# Programs may include their own tables (.def).
files=$(sources include src apps examples tests; find apps -name '*.def')
if awk -f tools/lint/includes.awk $files /dev/null >&2; then
  report "includes follow the order of the layers" ok
else
  report "includes follow the order of the layers" FAILED
fi

if awk -f tools/lint/calls.awk $(sources src) /dev/null >&2; then
  report "the library makes no forbidden calls" ok
else
  report "the library makes no forbidden calls" FAILED
fi

if awk -f tools/lint/hooks.awk src/kinds/kind.h src/kinds/lookup.h >&2; then
  report "the record of a filter kind is small" ok
else
  report "the record of a filter kind is small" FAILED
fi

# A check that does not fail for any planted fault proves nothing.
for pair in contract/fault tables/table_fault; do
  checks=tests/${pair%/*}/checks.def faults=tests/${pair#*/}/faults.def
  unshown=$(awk -F '[(,) \t]+' '
    /^[ \t]*FAULT\(/ { sub(/^[ \t]+/, ""); shown[$3] = 1 }
    /^[ \t]*CHECK\(/ { sub(/^[ \t]+/, ""); if (!($2 in shown)) print "  " $2 }
  ' "$faults" "$checks")
  if [ -z "$unshown" ]; then
    report "every check of $checks has a planted fault" ok
  else
    echo "$faults has no fault for:" >&2
    echo "$unshown" >&2
    report "every check of $checks has a planted fault" FAILED
  fi
done

# splitmix.h is the generator of all tests, and of all benchmarks. tests/interop has another, because it uses nothing of
# kith.
for folder in tests bench; do
  copies=$(grep -rlis bf58476d1ce4e5b9 $folder | grep -v '^tests/interop/')
  if [ "$copies" = $folder/splitmix.h ]; then
    report "$folder has one SplitMix64" ok
  else
    echo "$copies" >&2
    report "$folder has one SplitMix64, $folder/splitmix.h" FAILED
  fi
done

# Fixtures, corpora and expected output are not among these files. git is not asked, because it may not be installed.
files=$(find . \( -path ./build -o -path ./.git -o -name node_modules \) -prune -o -type f \
  \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.def' -o -name '*.cases' -o -name '*.sh' -o -name '*.py' \
  -o -name '*.awk' -o -name '*.css' -o -name '*.js' -o -name '*.cmake' -o -name CMakeLists.txt -o -name '*.md' \
  -o -name dev -o -name .clang-tidy \) -print | sed 's,^\./,,' | sort)
if [ -n "$files" ] && LC_ALL=C awk -f tools/lint/columns.awk $files >&2; then
  report "lines have at most 120 characters" ok
else
  report "lines have at most 120 characters (Markdown tables may have more)" FAILED
fi

# kith/reader.h is generated.
absent=$(grep -oE '`[A-Za-z0-9_/.]+\.(c|h|hpp|def|sh|py|awk|txt)`' docs/architecture.md | tr -d '\`' | sort -u |
  while read -r name; do
    [ "$name" = kith/reader.h ] || find . -path ./build -prune -o -path "*/$name" -print | grep -q . || echo "  $name"
  done)
if [ -z "$absent" ]; then
  report "docs/architecture.md names files that exist" ok
else
  echo "$absent" >&2
  report "docs/architecture.md names files that do not exist" FAILED
fi

# Other versions of clang-format format differently.
if clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
  if clang-format --dry-run -Werror $(sources include src apps examples tests bench); then
    report "clang-format" ok
  else
    report "clang-format (./dev format fixes it)" FAILED
  fi
else
  echo "lint: clang-format 14 is not installed: the layout is not checked" >&2
fi
# ./dev lint builds actionlint if there is a Go.
actionlint=$(command -v actionlint || command -v build/go/actionlint)
if [ -n "$actionlint" ]; then
  if "$actionlint" -shellcheck= -pyflakes= .github/workflows/*.yml >&2; then
    report "actionlint" ok
  else
    report "actionlint" FAILED
  fi
else
  echo "lint: actionlint is not installed: .github/workflows is not checked" >&2
fi
tools/lint/static.sh "$@" || failed=1
exit $failed
