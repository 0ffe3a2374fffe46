package load

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/machine"
	"github.com/sluice-go/sluice/lab/internal/proc"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// Schema is the version of the JSON of results.
const Schema = 2

const (
	Kind       = "load"
	PairKind   = "load-compare"
	SearchKind = "load-search"
)

// A Result is what a run came to. Times are nanoseconds in JSON.
type Result struct {
	machine.Origin      // Version, Command and Machine are the caller's to set
	Plan           Plan `json:"plan"`

	// Valid says that the figures are the target's and not the generator's. A
	// run that is not valid has no latency: Latency, Service and Due are empty.
	Valid   bool     `json:"valid"`
	Reasons []Reason `json:"reasons,omitempty"` // why it is not

	Calibration *Calibration `json:"calibration,omitempty"` // the caller's to set

	Connecting time.Duration `json:"connecting_ns"`   // before the warm-up
	Measured   time.Duration `json:"measured_ns"`     // what the figures were taken over, without the warm-up
	Requests   uint64        `json:"requests"`        // answered within it
	Bytes      uint64        `json:"bytes"`           // payload bytes of those
	Errors     uint64        `json:"errors"`          // requests and connections that failed, also in the warm-up
	Error      string        `json:"error,omitempty"` // the first of them
	Redials    uint64        `json:"redials,omitempty"`
	Resent     uint64        `json:"resent,omitempty"`  // requests that were sent again, their connection having ended by the rules of the protocol
	Lost       uint64        `json:"lost,omitempty"`    // requests due in the time measured that were never answered
	Failure    string        `json:"failure,omitempty"` // what the first failing reply said, also in the warm-up

	Replies    []Replies `json:"replies,omitempty"` // by class, where the target has several
	IOPS       float64   `json:"iops"`              // requests a second
	Throughput float64   `json:"throughput"`        // payload bytes a second

	// Late is the share of sends that the generator itself made late, by more than
	// LateAfter, although there was room for them; Shortfall the share of those due that were
	// not sent in time to be counted at all. Both are of open loops.
	Late      float64       `json:"late"`
	LateAfter time.Duration `json:"late_after_ns,omitempty"`
	Shortfall float64       `json:"shortfall"`
	// Busy is the part of the time in which the generator's busiest thread worked or
	// waited for a processor, rather than for the target.
	Busy float64 `json:"busy"`

	Latency *Distribution `json:"latency,omitempty"` // from the intended time in an open loop, from the send in a closed one
	Service *Distribution `json:"service,omitempty"` // from the send
	Gap     time.Duration `json:"gap_ns"`            // the longest time without an answer that was due, exact from a tenth of a second on
	// GapCrowded is for which part of it others kept generator or target from a processor; nil not known.
	GapCrowded *float64 `json:"gap_crowded,omitempty"`
	// Jitter is how much the P99 of the latency changes from one moment to the next: its standard
	// deviation over windows of 100 ms, or a 600th of the time if that is longer.
	Jitter time.Duration `json:"p99_jitter_ns,omitempty"`
	Series []Second      `json:"series"`
	Due    []DueWindow   `json:"due,omitempty"` // by when requests were due

	Generator Use  `json:"generator"`
	Target    *Use `json:"target,omitempty"` // with Plan.PID
}

// Replies are those of one class, such as 2xx, that came within the time measured.
type Replies struct {
	Class  string `json:"class"`
	Count  uint64 `json:"count"`
	Failed bool   `json:"failed,omitempty"` // they are failures
}

// A Distribution is what a histogram of times says; precise to 3 digits.
type Distribution struct {
	Count uint64        `json:"count"`
	Min   time.Duration `json:"min_ns"`
	Mean  time.Duration `json:"mean_ns"`
	P50   time.Duration `json:"p50_ns"`
	P90   time.Duration `json:"p90_ns"`
	P99   time.Duration `json:"p99_ns"`
	P999  time.Duration `json:"p999_ns"`
	Max   time.Duration `json:"max_ns"`
	Curve []Quantile    `json:"curve,omitempty"` // for plots: at most some 100 points, ascending
}

// A Quantile is a point of a distribution: the share Q of the values is at most At.
type Quantile struct {
	Q  float64       `json:"q"` // 0..1
	At time.Duration `json:"at_ns"`
}

// A Second is one second of the time series.
type Second struct {
	At       time.Duration `json:"at_ns"` // its end, since the measuring began
	Requests uint64        `json:"requests"`
	Bytes    uint64        `json:"bytes"`
	Rate     float64       `json:"rate"` // payload bytes a second
	// Crowded is for how long others kept generator or target from a processor, at most; nil not known.
	Crowded *time.Duration `json:"crowded_ns,omitempty"`
}

// A DueWindow is the latencies of the requests that were due, or sent in a closed loop,
// within one of at most 60 windows of a second or more. One without requests has zeros.
type DueWindow struct {
	At    time.Duration `json:"at_ns"` // its end
	Count uint64        `json:"count"`
	P50   time.Duration `json:"p50_ns"`
	P99   time.Duration `json:"p99_ns"`
	P999  time.Duration `json:"p999_ns"`
	Max   time.Duration `json:"max_ns"`
}

// Use is what a process used while it was measured.
type Use struct {
	proc.Spent
	CPUPerOp float64 `json:"cpu_ns_per_op"`
}

// Calibration is the error of the machine's timers, measured before a run.
type Calibration struct {
	Timer     Distribution  `json:"timer"`         // how late a wait of 1 ms ends
	LateAfter time.Duration `json:"late_after_ns"` // what sends are allowed: the timers' P99, at least 1 ms
}

// A Code says why a run is invalid.
type Code string

const (
	EndedEarly      Code = "ended-early"        // within the warm-up
	NothingAnswered Code = "nothing-answered"   // within the time measured
	TargetFailed    Code = "target-failed"      // a request or a connection
	TargetBehind    Code = "target-behind"      // it does not take the rate
	RepliesFailed   Code = "replies-failed"     // it says that it could not, or ends connections without an answer
	GeneratorLate   Code = "generator-late"     // it does not keep the rate
	GeneratorFull   Code = "generator-at-limit" // it was out of CPU
)

// A Reason is a code with its text for people.
type Reason struct {
	Code Code   `json:"code"`
	Text string `json:"text"`
}

// Texts joins what reasons say.
func Texts(reasons []Reason) string {
	var list []string
	for _, r := range reasons {
		list = append(list, r.Text)
	}
	return strings.Join(list, "; ")
}

// outOfCPU is the busy part of the time from which on the generator counts as out of CPU.
const outOfCPU = 0.95

// Behind reports whether a run is invalid only because the target does not keep up with
// the rate. Then its throughput is known, while its latency would grow without end.
func (r *Result) Behind() bool {
	return !r.Valid && len(r.Reasons) == 1 && r.Reasons[0].Code == TargetBehind
}

// judge decides whether a run is valid, and removes the latencies of an invalid
// one.
func (s *session) judge(r *Result) {
	invalid := func(code Code, format string, args ...any) {
		r.Reasons = append(r.Reasons, Reason{code, fmt.Sprintf(format, args...)})
	}
	broken := r.Errors > 0 && !s.plan.Redial
	switch {
	case broken:
		invalid(TargetFailed, "the target failed: %s", strings.TrimPrefix(r.Error, "load: "))
	case r.Measured <= 0:
		invalid(EndedEarly, "it ended within the warm-up")
	case r.Requests == 0:
		invalid(NothingAnswered, "nothing was answered within the time measured")
	}
	switch share := r.FailedShare(); {
	case share <= tolerable || r.Lost == r.FailedRequests() && !s.plan.Redial: // a broken connection has been named
	case r.Lost > 0:
		invalid(RepliesFailed, "%.1f %% of the requests failed, %d of them without an answer: the latency is not that of what was asked for", 100*share, r.Lost)
	default:
		invalid(RepliesFailed, "%.1f %% of the replies are failures: the latency is not that of what was asked for", 100*share)
	}
	if r.Shortfall > tolerable && !r.Interrupted && !broken { // that ends a run
		invalid(TargetBehind, "%.1f %% of the requests that were due had not been sent at the end: the target does not take %s", 100*r.Shortfall, rateText(s.plan))
	}
	if r.Late > tolerable {
		invalid(GeneratorLate, "%.1f %% of the requests were sent more than %s late although there was room for them: the generator does not keep %s",
			100*r.Late, units.Nanoseconds(float64(s.late)), rateText(s.plan))
	}
	if r.Busy > outOfCPU {
		invalid(GeneratorFull, "the generator was out of CPU (busy %.0f %% of the time): the target may be able to do more", 100*r.Busy)
	}
	if r.Valid = len(r.Reasons) == 0; !r.Valid {
		r.Latency, r.Service, r.Due, r.Jitter = nil, nil, nil, 0
	}
}

// FailedRequests is how many requests failed: without an answer, or with one that says so.
func (r *Result) FailedRequests() uint64 {
	n := r.Lost
	for _, c := range r.Replies {
		if c.Failed {
			n += c.Count
		}
	}
	return n
}

// FailedShare is their share of all that were answered or lost.
func (r *Result) FailedShare() float64 {
	return float64(r.FailedRequests()) / float64(max(1, r.Requests+r.Lost))
}

func rateText(p *Plan) string { return units.Number(p.Rate) + " requests a second" }
