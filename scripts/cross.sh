#!/bin/sh
# Compiles and vets for other systems than this one. Tests are
# compiled too, by vet, but not run. linux/arm64 has the files of linux/amd64, which
# lint has vetted, but for a few.
set -eu
cd "$(dirname "$0")/.."

# GOOS GOARCH what
targets='
linux arm64 ./... ./cmd/... ./lab/...
linux 386 ./... ./cmd/... ./lab/...
darwin arm64 ./... ./cmd/... ./lab/...
windows amd64 ./... ./cmd/... ./lab/...
freebsd amd64 ./aio/...
openbsd amd64 ./aio/...
netbsd amd64 ./aio/...
dragonfly amd64 ./aio/...
'

echo "$targets" | while read -r goos goarch packages; do
	[ -n "$goos" ] || continue
	echo "cross: $goos/$goarch"
	export GOOS="$goos" GOARCH="$goarch" CGO_ENABLED=0
	# One word for each pattern is what is wanted. vet comes first: it leaves most of
	# what build needs, and less is left the other way round.
	# shellcheck disable=SC2086
	[ "$goos/$goarch" = linux/arm64 ] || go vet $packages
	# shellcheck disable=SC2086
	go build -buildvcs=false $packages
done
