#!/bin/sh
# Runs every fuzz target of all modules for FUZZTIME (default 30s), one
# after the other, and fails when one of them did. FUZZWORKERS is the number
# of workers, FUZZONLY a pattern for directory and name. With FUZZRECORD=yes
# each run is a line in the record, the page is written from it, and the
# inputs that reached new code are kept beside it. A run that failed is
# "unexplained" in the last column until the cause stands there.
set -eu
cd "$(dirname "$0")/.."

record=docs/results/data/fuzzing.csv
corpus=docs/results/data/fuzzing-corpus.tar.gz
cache=$(go env GOCACHE)/fuzz

targets=$(grep -rnoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . |
	sed -E 's|^(.*)/[^/]*:[0-9]+:func (.*)$|\1 \2|' | grep -E "${FUZZONLY:-.}" | sort)
if [ -z "$targets" ]; then
	echo "fuzz: no fuzz target found" >&2
	exit 1
fi
processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
out=$(mktemp)
trap 'rm -f "$out"' EXIT

mkdir -p "$cache"
if [ -f "$corpus" ]; then
	tar -xzkf "$corpus" -C "$cache" 2>/dev/null || : # what is there stays
fi

# The loop must run in this shell, not behind a pipe, so that failed keeps its value.
failed=
while read -r dir name; do
	echo "fuzz: $name in $dir"
	finding=
	go test -run '^$' -fuzz "^$name\$" -fuzztime "${FUZZTIME:-30s}" -fuzzminimizetime 1s \
		${FUZZWORKERS:+-parallel "$FUZZWORKERS"} "$dir" </dev/null >"$out" 2>&1 || finding=unexplained
	# go test may end an unfinished round at the end of the time with this error: no finding.
	if grep -q '^    context deadline exceeded$' "$out" && ! grep -q 'Failing input' "$out"; then
		finding=
	fi
	failed="$failed${finding:+ $name}"
	cat "$out"
	if [ -n "${FUZZRECORD-}" ]; then
		# The last line of progress has the sums. One that found something may have none.
		sed -nE 's/^fuzz: elapsed: ([0-9hms]+), execs: ([0-9]+) .*new interesting: ([0-9]+).*/\1 \2 \3/p' "$out" | tail -n 1 |
			awk -v OFS=, -v at="$(date -u +%F)" -v cpu="$(echo "${processor:-unknown}" | tr -d ,)" -v dir="${dir#./}" -v name="$name" -v finding="$finding" '{
				n = split($1, part, /[hms]/); s = 0
				for (i = 1; i < n; i++) s = s * 60 + part[i]
				print at, cpu, dir, name, s, $2, $3, finding }' >>"$record"
	fi
done <<END
$targets
END

if [ -n "${FUZZRECORD-}" ]; then
	# Small inputs only: what an input reaches depends little on its length.
	(cd "$cache" && find . -path './github.com/sluice-go/sluice/*' -type f -size -2 | LC_ALL=C sort |
		tar -c --owner=0 --group=0 --mtime=@0 -T -) | gzip -9n >"$corpus"
	SLUICE_FUZZING=update go test -count=1 -run FuzzingPage ./internal/policy
fi

if [ -n "$failed" ]; then
	echo "fuzz: failed:$failed" >&2
	exit 1
fi
