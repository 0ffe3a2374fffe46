//go:build race

package stats_test

const underRace = true
