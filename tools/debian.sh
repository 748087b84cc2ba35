#!/bin/sh
# Installs the named programs from Debian's packages, where they are missing and apt is there.
set -eu
missing=
for name in "$@"; do command -v "$name" >/dev/null || missing="$missing $name"; done
[ -n "$missing" ] || exit 0
command -v apt-get >/dev/null || { echo "not installed, and no apt-get to install it:$missing (tests that need it will be skipped)" >&2; exit 0; }
sudo=
[ "$(id -u)" -eq 0 ] || sudo=$(command -v sudo) || { echo "not installed, and neither root nor sudo:$missing (tests that need it will be skipped)" >&2; exit 0; }
# gcc without a C library cannot link the race detector.
case $missing in *gcc*) missing="$missing libc6-dev" ;; esac
# What clang builds for the kernel is stripped by LLVM's own tool.
case $missing in *clang*) missing="$missing llvm" ;; esac
$sudo apt-get update -qq
# shellcheck disable=SC2086 # a list of names
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
