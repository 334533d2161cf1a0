#!/usr/bin/env bash
# Fetches what the tests with real servers use beyond Debian's packages, into FOLDER: setup.sh FOLDER
#
#   FOLDER/valkey/root   Valkey 8, from the backports of Debian if the system's own release has none
#   FOLDER/node          the client `redis` for Node.js, in the version that package.json names
#
# The system's package sources and packages stay as they are: apt works here with a separate sources list and separate
# folders, and with the mirror and the keyring of the system's sources. Packages are verified as always, then only
# unpacked. What cannot be downloaded is reported on stderr; its tests are skipped. The exit status is 0 in any case.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$1
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

skip() { echo "dev: $*" >&2; }

fetch_valkey() { # prints why it failed
  command -v apt-get >/dev/null && command -v dpkg >/dev/null || { echo "there is no apt-get"; return 1; }
  local box=$folder/valkey.part site codename
  # "SITE CODENAME" of the system's Debian release: the first of its sources that is not an addition such as -updates.
  read -r site codename < <(apt-get indextargets --format '$(SITE) $(CODENAME)' 'Created-By: Packages' \
    'Origin: Debian' 'Label: Debian' 'Component: main' | grep -v -- '-[a-z]*$' | sort -u)
  [ -n "${codename-}" ] || { echo "the system's package sources have no Debian release"; return 1; }
  local keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  [ -r "$keyring" ] || { echo "$keyring is missing"; return 1; }

  rm -rf "$box"
  mkdir -p "$box/lists/partial" "$box/cache/archives/partial" "$box/packages"
  # As root, apt would download as the user _apt, who may not be able to write to this folder.
  local apt=(apt-get -q -o "Dir::Etc::SourceList=$box/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$box/lists" -o "Dir::Cache=$box/cache" -o "APT::Sandbox::User=$(id -un)"
    -o Acquire::Retries=2)
  local suite log=$box/log
  for suite in "$codename-backports" "$codename"; do
    echo "deb [signed-by=$keyring] $site $suite main" >"$box/sources.list"
    "${apt[@]}" update >"$log" 2>&1 || continue
    (cd "$box/packages" && "${apt[@]}" download valkey-server valkey-tools) >"$log" 2>&1 || continue
    local package
    for package in "$box"/packages/*.deb; do
      dpkg -x "$package" "$box/root" 2>"$log" || { tail -1 "$log"; return 1; }
    done
    "$box/root/usr/bin/valkey-server" --version >"$log" 2>&1 || { tail -1 "$log"; return 1; }
    rm -rf "$folder/valkey" "$box/lists" "$box/cache" "$box/packages"
    mv "$box" "$folder/valkey"
    return 0
  done
  tail -1 "$log"
  return 1
}

fetch_node_client() { # prints why it failed
  local log=$folder/node.log
  mkdir -p "$folder/node"
  cp "$here/package.json" "$folder/node/"
  (cd "$folder/node" && npm install --no-package-lock --no-audit --no-fund) >"$log" 2>&1 && return 0
  grep -i 'err' "$log" | head -1
  return 1
}

if ! [ -x "$folder/valkey/root/usr/bin/valkey-server" ] && ! command -v valkey-server >/dev/null; then
  if ! why=$(fetch_valkey); then
    rm -rf "$folder/valkey.part"
    skip "Valkey cannot be downloaded (${why:-no reason given}): the tests redis.*@valkey are skipped"
  fi
fi
if ! cmp -s "$here/package.json" "$folder/node/package.json" || ! [ -d "$folder/node/node_modules/redis" ]; then
  why=$(fetch_node_client) ||
    skip "the npm package redis cannot be downloaded (${why:-no reason given}): redis.clients leaves Node.js out"
fi
exit 0
