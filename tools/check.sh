#!/bin/sh
# Says in one sentence which tool is missing or too old.
set -eu
command -v go >/dev/null || { echo "rocelens needs Go 1.26 or newer to build: install it from https://go.dev/dl/ and put it on PATH." >&2; exit 1; }
command -v node >/dev/null || { echo "rocelens needs Node.js 20 or newer to build its console: install it from https://nodejs.org/ and put it on PATH." >&2; exit 1; }
command -v npm >/dev/null || { echo "rocelens needs npm, which comes with Node.js, to build its console." >&2; exit 1; }
go=$(go env GOVERSION | sed 's/^go1\.\([0-9]*\).*/\1/')
[ "$go" -ge 26 ] || { echo "rocelens needs Go 1.26 or newer; this is $(go env GOVERSION)." >&2; exit 1; }
node=$(node --version | sed 's/^v\([0-9]*\).*/\1/')
[ "$node" -ge 20 ] || { echo "rocelens needs Node.js 20 or newer; this is $(node --version)." >&2; exit 1; }
free=$(df -Pk . | awk 'NR == 2 {print int($4 / 1024)}')
[ "$free" -ge 2500 ] || { echo "rocelens needs 2.5 GB to build and run; $(pwd) has $free MB left: make room and try again." >&2; exit 1; }
