#!/bin/sh
# Builds programs for the kernel: tools/bpf.sh PACKAGE OUT ARGUMENTS-OF-BPF2GO. The kernel's verifier and the committed
# files depend on the compiler, so it is one.
set -eu
package=$1 out=$2
shift 2
clang=${CLANG:-clang}
major=$($clang --version | sed -n 's/.*version \([0-9]*\)\..*/\1/p')
[ "$major" = 14 ] || { echo "the programs are built by clang 14, and this is $major" >&2; exit 3; }
GOPACKAGE=$package exec go run github.com/cilium/ebpf/cmd/bpf2go -cc "$clang" -strip llvm-strip -target bpfel -output-dir "$out" \
	-cflags '-O2 -mcpu=v3 -nostdinc -Wall -Wextra -Werror' "$@"
