package sluicetest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
)

// seedVariable repeats a random run.
const seedVariable = "SLUICE_SEED"

var processSeed = sync.OnceValue(func() uint64 {
	s := os.Getenv(seedVariable)
	if s == "" {
		return uint64(rand.Uint32())
	}
	seed, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		panic(fmt.Sprintf("sluicetest: %s is not a number: %q", seedVariable, s))
	}
	return seed
})

// Seed returns the seed for t's random choices, and logs it, so that it
// stands beside what failed. It is a new one in each process, unless the
// environment variable SLUICE_SEED sets it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := processSeed()
	t.Logf("%s=%d", seedVariable, seed)
	return seed
}
