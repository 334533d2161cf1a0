#!/usr/bin/env bash
# Tests that the documentation names only files, tests, dev commands and public names that exist.
# usage: names.sh SOURCE_FOLDER
#
# In Markdown files it checks the targets of links, and these words in backticks: paths that begin with a folder of the
# project, names of tests (contract.every_bit_flip_is_refused) and `./dev COMMAND`. Words such as
# src/kinds/<kind>/lookup.h are skipped. * matches as in a shell. Words in backticks that begin with kith_ or KITH_ are
# names of the public headers; the left column of docs/names.md has those that are gone.
set -uo pipefail
cd "$1" || exit 2
wrong=0 checked=0

exists() { # NAME: the file, folder or pattern
  compgen -G "$1" >/dev/null
}

has_test() { # GROUP NAME
  case $1 in
  contract) grep -q "^CHECK($2)" tests/contract/checks.def ;;
  table) grep -q "^CHECK($2)" tests/tables/checks.def ;;
  unit) [ -f "tests/unit/$2.c" ] ;;
  cli) [ -f "tests/cli/$2.cases" ] ;;
  redis) [ -f "tests/redis/$2.py" ] ;;
  interop) [ -f "tests/interop/$2.sh" ] ;;
  lab) grep -q "NAME lab.$2 \|foreach(name .*\b$2\b" tests/CMakeLists.txt ;;
  esac
}

# The names in the public headers. The codes are listed there without KITH_.
declare -A public
while read -r name; do
  public[$name]=1
done < <(grep -ohE '\b(kith_[a-z0-9_]+|KITH_[A-Z0-9_]+)\b|\([0-9]+, E_[A-Z_]+' include/kith/*.h src/reader/reader.h |
  sed 's/^([0-9]*, /KITH_/' | sort -u)

is_public() { # NAME
  [ -n "${public[$1]:-}" ]
}

is_gone() { # NAME
  ! is_public "$1"
}

# Prints the public names in the words in backticks on standard input.
names_in() {
  grep -o '`[^`]*`' | grep -oE '\b(kith_[a-z0-9_]*[a-z0-9]|KITH_[A-Z0-9_]*[A-Z0-9])\b' | sort -u
}

check() { # FILE NAME COMMAND…
  local file=$1 name=$2
  shift 2
  checked=$((checked + 1))
  "$@" || { echo "$file: $name does not exist" >&2; wrong=1; }
}

for file in *.md docs/*.md; do
  folder=$(dirname "$file")
  while read -r target; do
    check "$file" "link to $target" exists "$folder/${target%%#*}"
  done < <(grep -o '](\([^)]*\))' "$file" | sed 's/^](//; s/)$//' | grep -v '^https\?:\|^#')
  while read -r word; do
    case $word in
    *'<'* | *…*) ;;
    './dev '*)
      set -- $word
      check "$file" "$word" grep -q "^$2)\|^$2 |\|| $2)" dev
      ;;
    src/* | include/* | apps/* | tests/* | docs/* | examples/* | bench/* | tools/* | cmake/*)
      check "$file" "$word" exists "${word%%[ ,:(]*}"
      ;;
    contract.[a-z]* | table.[a-z]* | unit.[a-z]* | cli.[a-z]* | interop.[a-z]* | lab.[a-z]*)
      [[ $word =~ ^[a-z]+\.[a-z0-9_]+$ && ! $word =~ \.(c|h)$ ]] || continue
      check "$file" "$word" has_test "${word%%.*}" "${word#*.}"
      ;;
    redis.[a-z]*@redis | redis.[a-z]*@redis8 | redis.[a-z]*@valkey)
      check "$file" "$word" has_test redis "$(expr "$word" : 'redis\.\(.*\)@')"
      ;;
    esac
  done < <(grep -o '`[^`]*`' "$file" | tr -d '`')
  while read -r name; do
    case $name in
    KITH_TIER | KITH_SCENE | KITH_STEP) ;; # read by the tests
    kith_filters) ;;                       # a section of INFO of a server
    *) check "$file" "$name" is_public "$name" ;;
    esac
  done < <(case $file in docs/names.md) sed 's/^|[^|]*|//' "$file" ;; *) cat "$file" ;; esac | names_in)
done

# Names of stores in the left column of docs/names.md are gone. (Other lines there begin with calls that are not.)
while read -r name; do
  check docs/names.md "a name that is gone, but is in the headers: $name:" is_gone "$name"
done < <(sed -n 's/^|\([^|]*\)|.*/\1/p' docs/names.md | names_in | grep -i store)
echo "$checked names checked"
[ "$wrong" = 0 ] && [ "$checked" -gt 50 ]
