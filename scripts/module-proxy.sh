#!/bin/sh
# Writes the modules of a commit into a directory that GOPROXY takes as
# file://DIRECTORY, as the version that is given: what the tags would publish.
# The archives have what the go command would put into them.
#
# usage: scripts/module-proxy.sh DIRECTORY VERSION [COMMIT]
set -eu
if [ $# -lt 2 ] || [ $# -gt 3 ]; then
	echo "usage: scripts/module-proxy.sh DIRECTORY VERSION [COMMIT]" >&2
	exit 2
fi
mkdir -p "$1"
proxy=$(cd "$1" && pwd) version=$2
cd "$(dirname "$0")/.."
commit=$(git rev-parse --verify "${3-HEAD}^{commit}")
library=github.com/sluice-go/sluice

publish() { # module path, folder in the commit
	module=$1 folder=$2 at="$proxy/$1/@v"
	mkdir -p "$at"
	echo "$version" >>"$at/list"
	echo "{\"Version\":\"$version\"}" >"$at/$version.info"
	git show "$commit:${folder:+$folder/}go.mod" >"$at/$version.mod"
	# What is in a module of its own is not in this one.
	set -- .
	for nested in $(git ls-tree -r --name-only "$commit:$folder" | sed -n 's|/go\.mod$||p'); do
		set -- "$@" ":!$nested"
	done
	git archive --format=zip --prefix="$module@$version/" ${folder:+--add-file=LICENSE} -o "$at/$version.zip" "$commit:$folder" -- "$@"
}

publish "$library" ''
publish "$library/cmd" cmd
publish "$library/lab" lab
publish "$library/vet" vet
