#!/bin/sh
# Builds the programs into the folder given, this one's parent by default. The kernel's verifier and the committed files
# depend on the compiler, so it is one.
set -eu
cd "$(dirname "$0")/.."
out=${1:-.}
clang=${CLANG:-clang}
major=$($clang --version | sed -n 's/.*version \([0-9]*\)\..*/\1/p')
[ "$major" = 14 ] || { echo "the programs are built by clang 14, and this is $major" >&2; exit 3; }
flags='-O2 -mcpu=v3 -nostdinc -Wall -Wextra -Werror'
bpf2go() { GOPACKAGE=xdp go run github.com/cilium/ebpf/cmd/bpf2go -cc "$clang" -strip llvm-strip -target bpfel -output-dir "$out" -cflags "$flags" "$@"; }
bpf2go -type entry -type hot -type ledger program bpf/rocelens.c
bpf2go -output-suffix _test stepping bpf/stepping.c
