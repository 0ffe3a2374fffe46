//go:build race

package diagnose

const underRace = true
