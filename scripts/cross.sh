#!/bin/sh
# Checks the code for other systems than this one: the library is compiled and vetted with its
# tests. The programs stand on many modules that would take minutes to compile for each system:
# there sluicevet, which reads all but tests from source, finds what does not compile; a release compiles
# and links them.
set -eu
cd "$(dirname "$0")/.."

sluicevet=$(mktemp -d)
trap 'rm -rf "$sluicevet"' EXIT
go build -o "$sluicevet" ./vet/sluicevet

# GOOS GOARCH, what of the library, and what of the programs
targets="
linux 386:./...:
linux arm64:./...:./cmd/... ./lab/...
darwin arm64:./...:./cmd/... ./lab/...
windows amd64:./...:./cmd/... ./lab/...
freebsd amd64:./aio/...:
openbsd amd64:./aio/...:
netbsd amd64:./aio/...:
dragonfly amd64:./aio/...:
"

echo "$targets" | while IFS=: read -r system library programs; do
	[ -n "$system" ] || continue
	echo "cross: $system"
	export GOOS="${system% *}" GOARCH="${system#* }" CGO_ENABLED=0
	# vet comes first: it leaves most of what build needs, and less is left the other way round.
	go vet "$library"
	go build -buildvcs=false "$library"
	# One word for each pattern is what is wanted.
	# shellcheck disable=SC2086
	[ -z "$programs" ] || "$sluicevet/sluicevet" $programs
done
