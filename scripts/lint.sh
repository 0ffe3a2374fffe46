#!/bin/sh
# Everything that reads the code without running it: format, vet in both
# builds, staticcheck in both builds, sluicevet, shellcheck.
set -eu
cd "$(dirname "$0")/.."

staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.7.0

echo "lint: gofmt"
unformatted=$(gofmt -l .)
if [ -n "$unformatted" ]; then
	echo "lint: gofmt would change:" >&2
	echo "$unformatted" >&2
	exit 1
fi

lint() { # tags, packages
	tags=$1
	shift
	echo "lint: vet and staticcheck${tags:+ -tags $tags}"
	go vet -tags "$tags" "$@"
	go run "$staticcheck" -tags "$tags" "$@"
}
# The modules of the programs are reached through go.work. The tag chooses between files of
# two packages.
lint '' ./... ./cmd/... ./lab/... ./vet/...
lint invariants ./bytepool ./internal/invariant

echo "lint: sluicevet"
go run ./vet/sluicevet ./... ./cmd/... ./lab/... ./vet/...

echo "lint: shellcheck"
if ! command -v shellcheck >/dev/null; then
	echo "lint: no shellcheck in PATH; scripts/ensure-tools.sh installs it" >&2
	exit 1
fi
shellcheck .ci/run scripts/*.sh benchmark/*.sh
