#!/bin/sh
# Checks the code for other systems than this one. vet/typecheck reads it with its tests from source, and
# finds what does not compile: to compile what the programs import takes minutes. cross.sh compile does that
# for the library; a release compiles and links the programs.
set -eu
cd "$(dirname "$0")/.."

typecheck=$(mktemp -d)
trap 'rm -rf "$typecheck"' EXIT
go build -o "$typecheck" ./vet/typecheck

# GOOS GOARCH, what of the library, and what of the programs
targets="
linux 386:./...:
linux arm64:./...:
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
	if [ "${1-}" = compile ]; then
		go vet "$library"
		continue
	fi
	# One word for each pattern is what is wanted.
	# shellcheck disable=SC2086
	"$typecheck/typecheck" "$library" $programs
done
