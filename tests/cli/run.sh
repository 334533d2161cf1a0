#!/usr/bin/env bash
# Runs the cases of one file against the built tool: run.sh KITH FILE
#
# A file is a bash script that uses the functions below. It runs in a temporary folder, which is removed at the end. A
# case is a sentence, a command, and what is expected of it. The first expectation of a case that fails is printed; the
# other cases still run, and the file fails.
#
#   it 'prints the lines that may be in the set'
#   try kith query words.kith <<<'apple'
#   status 0
#   out_is 'apple'
set -u
kith=$1 file=$(realpath "$2")
box=$(mktemp -d "${TMPDIR:-/tmp}/kith-cli-XXXXXX")
trap 'chmod -R u+rwx "$box"; rm -rf "$box"' EXIT
mkdir "$box/bin" "$box/here"
ln -s "$(realpath "$kith")" "$box/bin/kith"
PATH=$box/bin:$PATH
unset NO_COLOR
export TERM=xterm LC_ALL=C TMPDIR=$box
# No leak detection: it takes as long as a short command itself, and hangs if a signal arrives while it runs. The test
# cli_faults detects leaks of every command.
export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0"
cd "$box/here" || exit 2

cases=0 failures=0 sentence='' broken=0

it() { sentence=$1 cases=$((cases + 1)) broken=0; }

broke() { # WHAT…
  [ "$broken" = 0 ] || return 0
  broken=1 failures=$((failures + 1))
  {
    echo "FAILED: $sentence"
    echo "  line ${BASH_LINENO[1]}: $*"
    echo "  status $code"
    sed 's/^/  out: /' "$box/out" | head -20
    sed 's/^/  err: /' "$box/err" | head -20
  } | tr -c '\n\t -~' '?' | cut -c 1-300
}

code=0
: >"$box/out"
: >"$box/err"

# Runs a command for five minutes at most; stdin is passed on.
try() {
  timeout -k 5 300 "$@" >"$box/out" 2>"$box/err"
  code=$?
}

# Runs a line in a shell with pipefail.
try_line() {
  timeout -k 5 300 bash -o pipefail -c "$1" >"$box/out" 2>"$box/err"
  code=$?
}

# Runs a line on a terminal, which stdout and stderr share: both are in `out`, with plain newlines.
try_terminal() {
  : >"$box/err"
  timeout -k 5 300 script -qec "$1" /dev/null </dev/null >"$box/raw" 2>&1
  code=$?
  tr -d '\r' <"$box/raw" >"$box/out"
}

# Runs a command and sends it a signal after some seconds, even if the signal is ignored, as in background shells. If
# the command does not end, it is killed (status 137).
try_signalled() { # SIGNAL SECONDS COMMAND…
  env --default-signal=INT,TERM,HUP,QUIT \
    timeout -k 20 --preserve-status -s "$1" "$2" "${@:3}" >"$box/out" 2>"$box/err"
  code=$?
}

# Runs a command and sends it a signal when CONDITION holds, with the process id as its last word. On a busy machine, a
# command may need seconds to come as far as a test wants it to be.
try_signalled_when() { # SIGNAL CONDITION COMMAND…
  local i
  : >"$box/err"
  env --default-signal=INT,TERM,HUP,QUIT "${@:3}" >"$box/out" 2>"$box/err" &
  for ((i = 0; i < 3000; i++)); do
    ! $2 $! || break
    sleep 0.1
  done
  kill -s "$1" $!
  wait $! 2>/dev/null
  code=$?
}
has_said_something() { [ -s "$box/err" ]; }
has_used() { # HUNDREDTHS PROCESS: of a second of processor time
  local fields
  read -r -a fields <"/proc/$2/stat" && [ $((fields[13] + fields[14])) -ge "$1" ]
}

# Puts the first 64 KiB of a file into `text`, without starting a process: there are thousands of expectations. Fails if
# the file has more, or a zero byte; then the caller must read the file itself.
text=''
slurp() { # FILE
  local size=65536
  ! IFS= read -r -d '' -n $size text <"$1" && [ ${#text} -lt $size ]
}

has() { # WHAT WORDS
  if slurp "$box/$1"; then
    [[ $text == *"$2"* ]]
  else
    grep -qF -- "$2" "$box/$1"
  fi
}

lines() { # WHAT: sets `count`
  local newlines
  if slurp "$box/$1"; then
    newlines=${text//[!$'\n']/}
    count=${#newlines}
  else
    count=$(wc -l <"$box/$1")
  fi
}

status() { [ "$code" = "$1" ] || broke "status is not $1"; }
same() { # WHAT EXPECTED: trailing newlines are ignored
  slurp "$box/$1" || text=$(cat "$box/$1")
  while [[ $text == *$'\n' ]]; do text=${text%$'\n'}; done
  [ "$text" = "$2" ] || broke "$1 is not: $2"
}
out_is() { same out "$1"; }
err_is() { same err "$1"; }
out_has() { has out "$1" || broke "out has no: $1"; }
out_lacks() { ! has out "$1" || broke "out has: $1"; }
err_has() { has err "$1" || broke "err has no: $1"; }
out_lines() {
  local count
  lines out
  [ "$count" -eq "$1" ] || broke "out does not have $1 lines"
}
holds() { "$@" || broke "does not hold: $*"; } # COMMAND…
json() { jq -e "$1" "$box/out" >/dev/null 2>&1 || broke "JSON: not true: $1"; } # JQ-EXPRESSION

# Expects status 2, nothing on stdout, and one line on stderr that begins with the name of the tool and has all WORDS.
error() { # WORDS…
  local word count
  status 2
  out_is ''
  lines err
  [ "$count" -eq 1 ] || broke "stderr is not one line"
  has err 'kith' && [[ $text == kith[\ :]* ]] || broke "stderr does not begin with kith"
  for word in "$@"; do err_has "$word"; done
}

# Prints the kinds of filters that support every WORD, such as add or remove, and none that is written as -WORD. Without
# words, it prints all kinds. Cases that are true for every kind use this instead of a list, so that they also run with
# kinds that are added later. If there are none, it prints a name that is not a kind, so that a loop over them fails.
kinds_that() { # [-]WORD…
  kith kinds --json | jq -r --arg words "$*" '.kinds[] | (.can | split(" ")) as $can | select([$words | split(" ")[]
    | if startswith("-") then .[1:] | IN($can[]) | not else IN($can[]) end] | all) | .kind' | grep . ||
    echo "no-kind-that-$*" | tr ' ' -
}

# Checks that a failed change leaves files unchanged: keep FILE… before it, kept FILE… after it.
keep() { for f in "$@"; do cp -p "$f" "$box/kept-${f##*/}"; done; }
kept() {
  local f
  for f in "$@"; do cmp -s "$f" "$box/kept-${f##*/}" || broke "$f was changed"; done
  [ -z "$(find . -name '.*.kith-*')" ] || broke "a temporary file is left"
}

# shellcheck source=/dev/null
. "$file"
echo "$(basename "$file"): $cases cases, $failures failed"
[ "$failures" = 0 ] && [ "$cases" -gt 0 ]
