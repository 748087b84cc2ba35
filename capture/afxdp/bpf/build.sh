#!/bin/sh
# Builds the program into the folder given, this one's parent by default.
set -eu
cd "$(dirname "$0")/.."
exec ../../tools/bpf.sh afxdp "${1:-.}" -type counts program bpf/redirect.c
