#!/bin/sh
# Runs the soak tests for SOAK (default 1h), and writes pages with their curves into
# SOAK_PAGES when that names a directory. It ends with 1 when one failed, and with 3
# when none did but some were too short to judge.
set -eu
cd "$(dirname "$0")/.."

out=$(mktemp)
trap 'rm -f "$out"' EXIT
{
	SLUICE_SOAK=${SOAK:-1h} SLUICE_SOAK_PAGES=${SOAK_PAGES-} go test -count=1 -v -p 4 -timeout 48h -run Soak \
		. ./aio ./cmd/sluice/internal/relay/realtest ./lab/internal/sink/realtest || echo "soak: failed"
} | tee "$out"
if grep -q '^soak: failed$' "$out"; then
	exit 1
fi
if grep -q ' too-short: ' "$out"; then
	echo "soak: not all could be judged in ${SOAK:-1h}; SOAK=10m is enough" >&2
	exit 3
fi
