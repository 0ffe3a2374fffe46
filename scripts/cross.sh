#!/bin/sh
# Compiles for other systems than this one, and vets what lint has not seen, which
# compiles the tests, too. linux/arm64 has the files of linux/amd64 but for a few. Tests of
# the programs are the same on darwin and windows but for a few.
set -eu
cd "$(dirname "$0")/.."

# GOOS GOARCH, what is compiled, and what of it is vetted
all='./... ./cmd/... ./lab/...'
targets="
linux arm64:$all:
linux 386:./...:./...
darwin arm64:$all:$all
windows amd64:$all:./...
freebsd amd64:./aio/...:./aio/...
openbsd amd64:./aio/...:./aio/...
netbsd amd64:./aio/...:./aio/...
dragonfly amd64:./aio/...:./aio/...
"

echo "$targets" | while IFS=: read -r system built vetted; do
	[ -n "$system" ] || continue
	echo "cross: $system"
	export GOOS="${system% *}" GOARCH="${system#* }" CGO_ENABLED=0
	# One word for each pattern is what is wanted. vet comes first: it leaves most of
	# what build needs, and less is left the other way round.
	# shellcheck disable=SC2086
	[ -z "$vetted" ] || go vet $vetted
	# shellcheck disable=SC2086
	go build -buildvcs=false $built
done
