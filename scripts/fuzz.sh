#!/bin/sh
# Runs every fuzz target of all modules for FUZZTIME (default 30s), one
# after the other, and fails when one of them did.
set -eu
cd "$(dirname "$0")/.."

targets=$(grep -rnoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . |
	sed -E 's|^(.*)/[^/]*:[0-9]+:func (.*)$|\1 \2|' | sort)
if [ -z "$targets" ]; then
	echo "fuzz: no fuzz target found" >&2
	exit 1
fi

# The loop must run in this shell, not behind a pipe, so that failed keeps its value.
failed=
while read -r dir name; do
	echo "fuzz: $name in $dir"
	go test -run '^$' -fuzz "^$name\$" -fuzztime "${FUZZTIME:-30s}" -fuzzminimizetime 1s "$dir" </dev/null || failed="$failed $name"
done <<END
$targets
END

if [ -n "$failed" ]; then
	echo "fuzz: failed:$failed" >&2
	exit 1
fi
