// Package realtest holds the tests of the load generator against servers that people
// run, nginx and redis-server, which scripts/ensure-tools.sh installs. TestCompare,
// which make compare-load runs, holds its throughput against that of wrk,
// redis-benchmark and fio on the same work; it skips itself unless SLUICE_COMPARE_LOAD
// says for how many rounds.
//
// The tests run on Linux.
package realtest
