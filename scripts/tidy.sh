#!/bin/sh
# go mod tidy for the modules of the programs against the library of this tree,
# which tidy cannot see: it knows no workspace.
set -eu
cd "$(dirname "$0")/.."
library=$(go list -m -f '{{.Path}}' github.com/sluice-go/sluice)

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
export GOWORK=off
for module in cmd lab vet; do
	cp "$module/go.mod" "$dir/go.mod"
	cp "$module/go.sum" "$dir/go.sum"
	go mod edit -replace "$library=$PWD" "$dir/go.mod"
	(cd "$module" && go mod tidy -modfile "$dir/go.mod" "$@")
	go mod edit -dropreplace "$library" "$dir/go.mod"
	cp "$dir/go.mod" "$dir/go.sum" "$module/"
done
