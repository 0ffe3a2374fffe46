package netsim

import (
	"fmt"
	"math/rand/v2"
)

// A Condition says how much of a stream one Read brings on some network:
// between Min and Max bytes, both included, all sizes equally likely.
type Condition struct {
	Name     string
	Min, Max int // bytes, 1 to MaxRead
}

// MaxRead is the largest Max of a Condition, in bytes.
const MaxRead = 1 << 16

// The four conditions of the measurements.
var (
	Good   = Condition{"good", 1024, 4096}
	Normal = Condition{"normal", 256, 2048}
	Poor   = Condition{"poor", 64, 512}
	Worst  = Condition{"worst", 1, 128}
)

// Conditions returns Good, Normal, Poor and Worst, in this order.
func Conditions() []Condition { return []Condition{Good, Normal, Poor, Worst} }

// ByName returns the one of the four conditions that has this name, for
// command lines.
func ByName(name string) (c Condition, ok bool) {
	for _, c := range Conditions() {
		if c.Name == name {
			return c, true
		}
	}
	return Condition{}, false
}

// String returns the name and the bounds.
func (c Condition) String() string {
	return fmt.Sprintf("%s (%d to %d bytes per read)", c.Name, c.Min, c.Max)
}

// check panics when no size fits the condition.
func (c Condition) check() {
	if c.Min < 1 || c.Max < c.Min || c.Max > MaxRead {
		panic(fmt.Sprintf("netsim: condition %q of %d to %d bytes, allowed are 1 to %d", c.Name, c.Min, c.Max, MaxRead))
	}
}

func (c Condition) draw(rnd *rand.Rand) int { return c.Min + rnd.IntN(c.Max-c.Min+1) }

// newRand returns the generator for one purpose. Purposes do not share one,
// so that goroutines that run in another order draw the same numbers.
func newRand(seed, purpose uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, purpose)) }
