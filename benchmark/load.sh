#!/bin/sh
# What a request costs lab load, beside what it costs a client in C that does
# no more than it must (echo_client.c): CPU time of the client for each request of
# a closed loop against lab echo --engine std, the server on one processor and
# the client on another. Rounds are interleaved, in turns; the last lines are the median of the
# ratios taken inside the rounds, with their range.
#
# usage: benchmark/load.sh [ROUNDS [SECONDS [CONNECTIONS [BYTES]]]]
set -eu
cd "$(dirname "$0")/.."

rounds=${1:-7} seconds=${2:-3} conns=${3:-64} bytes=${4:-128}
for tool in cc taskset awk; do
	command -v "$tool" >/dev/null || { echo "load.sh: there is no $tool" >&2; exit 1; }
done

dir=$(mktemp -d)
server=
stop() {
	if [ -n "$server" ]; then
		kill "$server" 2>/dev/null || :
		wait "$server" 2>/dev/null || :
	fi
	rm -rf "$dir"
}
trap stop EXIT
trap 'exit 130' INT TERM

cc -O2 -o "$dir/echo_client" benchmark/echo_client.c
go build -o "$dir/lab" ./lab

server_cpu=$(($(nproc) - 1))
taskset -c "$server_cpu" "$dir/lab" echo --engine std 127.0.0.1:0 >"$dir/server" &
server=$!
port=
tries=0
while [ -z "$port" ]; do
	port=$(sed -n '1s/.*:\([0-9]*\).*/\1/p' "$dir/server")
	tries=$((tries + 1))
	if [ "$tries" -gt 100 ]; then
		echo "load.sh: the server does not listen" >&2
		exit 1
	fi
	sleep 0.1
done

# Nanoseconds of CPU for a request, and requests a second.
c_client() {
	taskset -c 0 "$dir/echo_client" 127.0.0.1 "$port" "$conns" "$bytes" "$seconds" |
		awk '{ printf "%.0f %.0f\n", $3 / $1 * 1e9, $1 / $2 }'
}
lab_load() {
	# A run whose generator had too little CPU is known by its exit code; its
	# cost is a figure all the same.
	taskset -c 0 "$dir/lab" load --protocol echo --conns "$conns" --size "$bytes" --warmup 300ms \
		--duration "${seconds}s" --no-calibration --json - "127.0.0.1:$port" 2>/dev/null >"$dir/result" || [ $? -eq 3 ]
	awk -F'[:,]' '
		/"iops"/ && !rate { rate = $2 }
		/"cpu_ns_per_op"/ && !cost { cost = $2 }
		END { printf "%.0f %.0f\n", cost, rate }' "$dir/result"
}

echo "$conns connections, $bytes bytes, $rounds rounds of $seconds s each; CPU ns for a request (requests a second)"
round=1
while [ "$round" -le "$rounds" ]; do
	if [ $((round % 2)) -eq 1 ]; then
		c=$(c_client)
		go=$(lab_load)
	else
		go=$(lab_load)
		c=$(c_client)
	fi
	echo "$c $go" | awk -v round="$round" '{ printf "round %d: C %d (%d), lab load %d (%d), ratio %.3f\n", round, $1, $2, $3, $4, $3 / $1 }' | tee -a "$dir/rounds"
	round=$((round + 1))
done
sed 's/.*ratio //' "$dir/rounds" | sort -n | awk '
	{ r[NR] = $1 }
	END {
		m = NR % 2 ? r[(NR + 1) / 2] : (r[NR / 2] + r[NR / 2 + 1]) / 2
		printf "lab load / C: %.2f (%.2f-%.2f)\n", m, r[1], r[NR]
	}'
