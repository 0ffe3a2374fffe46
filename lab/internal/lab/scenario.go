// Package lab holds the contract between the scenarios, which do work, and
// what measures them: one implementation of each scenario serves go test
// -bench and lab bench.
package lab

// A Scenario is one question: the same work on the same bytes, done by
// several variants, one of which is the baseline that ratios are taken to.
type Scenario struct {
	Name     string // group/case, unique: "framing/good"
	Title    string // one line for people
	Op       string // what one operation is: "frame", "get+put", "connection"
	Metric   string // the figure that is compared, one of the names below or one that the runner reports
	Baseline string // the variant that ratios are taken to
	Ops      int    // operations in one round of about 20 ms on a slow core; a round of a scenario that counts, not times, does exactly these
	Fixed    bool   // Ops must not be scaled (idle memory, say)
	Named    bool   // it takes so long that it is run only when it is asked for by name
	Variants []Variant
	Targets  []Target
}

// A Variant is one way to do a scenario's work.
type Variant struct {
	Name  string // "peek", "next"
	About string // one line: what it is and who would write it
	// Open prepares everything that the clock must not see.
	Open func(Env) (Runner, error)
}

// A Runner does the work of one variant. It is used by one goroutine.
type Runner interface {
	// Run does exactly ops operations and says what they came to.
	Run(ops int) (Sample, error)
	// Close gives back what Open took.
	Close() error
}

// A Sample is what one round came to. Time, allocations and collections are
// measured by the caller around Run; Figures holds what only the runner knows,
// and wins over a measured figure of the same name.
type Sample struct {
	Bytes   int64  // payload bytes consumed
	Check   uint64 // a sum over the bytes consumed: equal in all variants for equal ops, which the caller checks
	Figures map[string]float64
}

// Env is what a variant may use.
type Env struct {
	Seed  uint64 // the same for all variants of a scenario, so that they draw the same sizes
	Dir   string // an empty directory, removed afterwards
	Self  string // the path of a program that answers the hidden child commands
	Full  bool   // more rounds are asked for; larger fixtures are in order
	Quick bool   // everything has to be over in a few seconds; smaller ones are, as the titles say
}

// A Target is a promise that can fail: the ratio of a variant's figure to
// another's (or the figure itself when Against is empty) is at most AtMost or,
// when AtLeast is set, at least that.
type Target struct {
	Variant string  `json:"variant"`
	Metric  string  `json:"metric,omitempty"`  // empty: the scenario's
	Against string  `json:"against,omitempty"` // a variant, or empty for an absolute bound
	AtMost  float64 `json:"at_most"`
	AtLeast float64 `json:"at_least,omitempty"` // more is better of this figure: a bound from below instead of AtMost
}

// The figures that are measured around every Run.
const (
	NsPerOp     = "ns/op"
	CPUPerOp    = "cpu-ns/op" // user and system time of the process that reads
	AllocsPerOp = "allocs/op"
	BytesPerOp  = "B/op"
	GCRuns      = "gc-runs" // collections during one round
)
