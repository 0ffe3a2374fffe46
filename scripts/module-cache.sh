#!/bin/sh
# Makes a directory that GOMODCACHE takes: without modules of ours, so that they come from
# GOPROXY, and with those of others that this machine has, by links: to unpack them again takes
# longer than to build what is released.
#
# usage: scripts/module-cache.sh DIRECTORY
set -eu
if [ $# -ne 1 ]; then
	echo "usage: scripts/module-cache.sh DIRECTORY" >&2
	exit 2
fi
here=$(go env GOMODCACHE)
for in in . github.com cache cache/download cache/download/github.com; do
	mkdir -p "$1/$in"
	for at in "$here/$in"/*; do
		case ${at##*/} in
		cache | download | github.com | sluice-go) continue ;;
		esac
		[ ! -d "$at" ] || ln -s "$at" "$1/$in/"
	done
done
