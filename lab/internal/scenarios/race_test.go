//go:build race

package scenarios

// underRace: pools drop at random, so that allocations say nothing.
const underRace = true
