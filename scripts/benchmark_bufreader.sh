#!/bin/sh
# Shortcut for go test -bench of the reader's scenarios: each variant of
# reading the same bytes, side by side, with allocations and collections.
set -eu

usage() {
	cat <<'END'
usage: scripts/benchmark_bufreader.sh [-c count] [-t benchtime] [name...]
  -c count      run each benchmark so often (go test -count); default 1
  -t benchtime  as long, or as many times: 2s, 100000x (go test -benchtime); default 1s
  name          only these of ConcurrentNetworkRead, HighFrequencyReads, GCPressure
example: scripts/benchmark_bufreader.sh -c 10 GCPressure > new.txt && benchstat new.txt
END
}

wrong() {
	echo "benchmark_bufreader: $1; see -h" >&2
	exit 2
}

all='ConcurrentNetworkRead|HighFrequencyReads|GCPressure'
count=1
benchtime=1s
if [ "${1-}" = --help ]; then
	usage
	exit 0
fi
while getopts :c:t:h option; do
	case $option in
	c) count=$OPTARG ;;
	t) benchtime=$OPTARG ;;
	h)
		usage
		exit 0
		;;
	:) wrong "-$OPTARG needs a value" ;;
	*) wrong "unknown option -$OPTARG" ;;
	esac
done
shift $((OPTIND - 1))

names=
for name in "$@"; do
	case "|$all|" in
	*"|$name|"*) names="${names:+$names|}$name" ;;
	*) wrong "no benchmark $name" ;;
	esac
done

cd "$(dirname "$0")/.."
exec go test -run '^$' -bench "^Benchmark(${names:-$all})\$" -benchmem \
	-count "$count" -benchtime "$benchtime" -timeout 0 ./lab/internal/scenarios
