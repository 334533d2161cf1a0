#!/usr/bin/env bash
# Fetches a kernel for the guest of blocklog.py: setup.sh FOLDER
#
#   FOLDER/vmlinuz, FOLDER/modules   Debian's kernel for virtual machines
#
# The package is downloaded and unpacked, not installed: it would become the kernel that this machine starts with. If it
# cannot be downloaded, the reason is printed on stderr and the tests are skipped. The exit status is 0 in any case.
set -uo pipefail
folder=$1
[ ! -e "$folder/vmlinuz" ] || exit 0
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
box=$folder/part

fetch() { # prints why it failed
  command -v apt-get >/dev/null && command -v dpkg >/dev/null || { echo "there is no apt-get"; return 1; }
  local package log=$folder/log
  # linux-image-cloud-amd64 only depends on the newest kernel.
  package=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null |
    sed -n 's/^ *Depends: \(linux-image-[^ ]*\)$/\1/p' | head -1)
  [ -n "$package" ] || { echo "the package sources have no linux-image-cloud-amd64"; return 1; }
  rm -rf "$box"
  mkdir -p "$box/root"
  (cd "$box" && apt-get -q -o "APT::Sandbox::User=$(id -un)" download "$package" && dpkg -x "$package"_*.deb root) \
    >"$log" 2>&1 || { tail -1 "$log"; return 1; }
  mv "$box"/root/boot/vmlinuz-* "$box/vmlinuz" && mv "$box"/root/lib/modules/*/kernel "$box/modules" ||
    { echo "$package has another layout"; return 1; }
  rm -rf "$folder/modules"
  mv "$box/modules" "$folder/modules" && mv "$box/vmlinuz" "$folder/vmlinuz"
}

why=$(fetch) ||
  echo "dev: no kernel for a virtual machine (${why:-no reason given}): the tests blocklog.* are skipped" >&2
rm -rf "$box"
exit 0
