#!/bin/sh
# Builds the programs into the folder given, this one's parent by default.
set -eu
cd "$(dirname "$0")/.."
exec ../../tools/bpf.sh headers "${1:-.}" -type record -type counts program bpf/headers.c
