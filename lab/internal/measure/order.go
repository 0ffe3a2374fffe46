package measure

import (
	"hash/fnv"
	"math/rand/v2"
)

// An order says in which order the variants run in each round. Within as many
// rounds as there are variants each stands once in each place; then a new
// arrangement is drawn, so that the neighbours change too.
type order struct {
	rng    *rand.Rand
	base   []int
	rounds int
}

// newOrder makes the same sequence for the same seed, scenario and number of
// variants, and another one for another scenario.
func newOrder(seed uint64, scenario string, variants int) *order {
	h := fnv.New64a()
	h.Write([]byte(scenario))
	o := &order{rng: rand.New(rand.NewPCG(seed, h.Sum64())), base: make([]int, variants)}
	for i := range o.base {
		o.base[i] = i
	}
	return o
}

// next returns the indexes of the variants in the order of the next round.
// The slice is the caller's.
func (o *order) next() []int {
	n := len(o.base)
	if n == 0 {
		return nil
	}
	if o.rounds%n == 0 {
		o.rng.Shuffle(n, func(i, j int) { o.base[i], o.base[j] = o.base[j], o.base[i] })
	}
	round := make([]int, n)
	for i := range round {
		round[i] = o.base[(i+o.rounds)%n]
	}
	o.rounds++
	return round
}
