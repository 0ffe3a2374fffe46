//go:build !race

package aio_test

// crowdSize is how many connections the largest behaviours have.
const crowdSize = 10_000
