#!/usr/bin/env bash
# Tests that the tool, its manual pages and its completions are installed.
# usage: tool.sh CMAKE BUILD_DIR
set -euo pipefail
cmake=$1 build=$2
there=$(mktemp -d)
trap 'rm -rf "$there"' EXIT
"$cmake" --install "$build" --prefix "$there" >/dev/null
kith=$there/bin/kith
"$kith" --version
for page in kith $("$kith" help | sed -n 's/^  \([a-z]*\)  *.*/kith-\1/p'); do
  grep -q '^\.TH' "$there/share/man/man1/$page.1"
done
grep -q 'complete .* kith' "$there/share/bash-completion/completions/kith"
grep -q '^#compdef kith' "$there/share/zsh/site-functions/_kith"
grep -q '^complete -c kith' "$there/share/fish/vendor_completions.d/kith.fish"
