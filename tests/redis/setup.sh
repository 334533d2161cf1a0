#!/usr/bin/env bash
# Fetches what the tests with real servers use beyond Debian's packages, into FOLDER: setup.sh FOLDER
#
#   FOLDER/valkey/root   Valkey 8, from the backports of Debian if the system's own release has none
#   FOLDER/redis8/bin    Redis 8, from Debian 13, if the system's own is older
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

# Downloads packages of Debian into FOLDER/NAME.part, and unpacks them there into root: fetch_packages NAME SUITES
# PACKAGE…, where `release` in SUITES stands for the system's own release. Takes the first suite that has all of them.
# Prints why it failed.
fetch_packages() {
  command -v apt-get >/dev/null && command -v dpkg >/dev/null || { echo "there is no apt-get"; return 1; }
  local box=$folder/$1.part suites=$2 site codename
  shift 2
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
  for suite in ${suites//release/$codename}; do
    echo "deb [signed-by=$keyring] $site $suite main" >"$box/sources.list"
    "${apt[@]}" update >"$log" 2>&1 || continue
    (cd "$box/packages" && "${apt[@]}" download "$@") >"$log" 2>&1 || continue
    local package
    for package in "$box"/packages/*.deb; do
      dpkg -x "$package" "$box/root" 2>"$log" || { tail -1 "$log"; return 1; }
    done
    rm -rf "$box/lists" "$box/cache" "$box/packages"
    return 0
  done
  tail -1 "$log"
  return 1
}

# Puts a download in place if its server runs: keep NAME PATH-OF-THE-SERVER. Prints why it does not.
keep() {
  local box=$folder/$1.part
  "$box/$2" --version >"$box/log" 2>&1 || { tail -1 "$box/log"; return 1; }
  rm -rf "${folder:?}/$1"
  mv "$box" "$folder/$1"
}

fetch_valkey() { # prints why it failed
  fetch_packages valkey "release-backports release" valkey-server valkey-tools && keep valkey root/usr/bin/valkey-server
}

# Redis 8 needs libraries that are newer than those of the system, so it gets those of its own release and their
# loader.
fetch_redis8() { # prints why it failed
  fetch_packages redis8 trixie redis-server redis-tools libc6 libgcc-s1 libatomic1 libjemalloc2 liblzf1 libssl3t64 \
    libstdc++6 libsystemd0 libcap2 liblz4-1 liblzma5 libzstd1 zlib1g || return 1
  local root=$folder/redis8.part/root loader libraries program
  loader=$(cd "$root" && find usr/lib* -name 'ld-linux*.so.*' | head -1)
  libraries=$(cd "$root" && find usr/lib -name libc.so.6 -printf '%h\n' | head -1)
  [ -n "$loader" ] && [ -n "$libraries" ] || { echo "the package libc6 has no loader"; return 1; }
  mkdir -p "$folder/redis8.part/bin"
  for program in server cli benchmark; do
    cat >"$folder/redis8.part/bin/redis-$program" <<END
#!/bin/sh
root=\$(dirname "\$0")/../root
exec "\$root/$loader" --library-path "\$root/$libraries" --argv0 redis-$program "\$root/usr/bin/redis-$program" "\$@"
END
    chmod +x "$folder/redis8.part/bin/redis-$program"
  done
  keep redis8 bin/redis-server
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
if ! [ -x "$folder/redis8/bin/redis-server" ] &&
  ! redis-server --version 2>/dev/null | grep -q 'v=\([89]\|[1-9][0-9]\)'; then
  if ! why=$(fetch_redis8); then
    rm -rf "$folder/redis8.part"
    skip "Redis 8 cannot be downloaded (${why:-no reason given}): the tests redis.*@redis8 are skipped"
  fi
fi
if ! cmp -s "$here/package.json" "$folder/node/package.json" || ! [ -d "$folder/node/node_modules/redis" ]; then
  why=$(fetch_node_client) ||
    skip "the npm package redis cannot be downloaded (${why:-no reason given}): redis.clients leaves Node.js out"
fi
exit 0
