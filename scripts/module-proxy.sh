#!/bin/sh
# Writes the three modules of a commit into a directory that GOPROXY takes as
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
	at="$proxy/$1/@v"
	mkdir -p "$at"
	echo "$version" >>"$at/list"
	echo "{\"Version\":\"$version\"}" >"$at/$version.info"
	git show "$commit:${2:+$2/}go.mod" >"$at/$version.mod"
	if [ -z "$2" ]; then
		# What is in a module of its own is not in this one.
		git archive --format=zip --prefix="$1@$version/" -o "$at/$version.zip" "$commit" -- . ':!cmd' ':!lab'
	else
		git archive --format=zip --prefix="$1@$version/" --add-file=LICENSE -o "$at/$version.zip" "$commit:$2"
	fi
}

publish "$library" ''
publish "$library/cmd" cmd
publish "$library/lab" lab
