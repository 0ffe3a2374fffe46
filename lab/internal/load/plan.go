package load

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// A Protocol is what a target answers.
type Protocol string

const (
	Echo  Protocol = "echo"  // the bytes of a request as they are, without any framing
	Frame Protocol = "frame" // a 4-byte big-endian length and so many bytes: the same again
	Ack   Protocol = "ack"   // a 4-byte big-endian length and so many bytes: 8 bytes, a big-endian number
)

// Limits of a plan.
const (
	MaxConns = 1 << 16
	MaxDepth = 1 << 12
)

// A Plan describes a load and its target. The comment of a field says what its zero
// value means; Default fills fields in, Check does not.
type Plan struct {
	Target   string   `json:"target"` // host:port, or unix:PATH
	Protocol Protocol `json:"protocol"`
	Conns    int      `json:"conns"`
	Sizes    Sizes    `json:"sizes"` // payload bytes of a request, without its length
	// Rate is how many requests (or, with RateBytes, payload bytes) are sent a
	// second over all connections: an open loop, in which latency counts from the
	// moment at which a request was due. 0 is a closed loop: a request is
	// sent when there is room for it.
	Rate      float64 `json:"rate,omitempty"`
	RateBytes bool    `json:"rate_bytes,omitempty"`
	// Depth is how many requests of a connection are under way at most.
	Depth    int           `json:"depth"`
	Warmup   time.Duration `json:"warmup_ns"`   // before what is measured
	Duration time.Duration `json:"duration_ns"` // of what is measured
	Windows  Windows       `json:"windows"`
	Seed     uint64        `json:"seed,string"`
	Engine   string        `json:"engine,omitempty"`   // epoll, portable, or empty for the best there is
	Threads  int           `json:"threads,omitempty"`  // of engine epoll; 0 for one
	Faults   Faults        `json:"faults"`             // what the generator does wrong on purpose
	Patience time.Duration `json:"patience_ns"`        // without any answer, before the target is given up
	Redial   bool          `json:"redial,omitempty"`   // connections that end are made anew, to the next of the targets (separated by commas)
	AckFile  string        `json:"ack_file,omitempty"` // of protocol ack: what was acknowledged, see AckRecord
	// LateAfter is how much later than intended a send may leave by the generator's
	// own fault, the error of the machine's timers; 0 for 1 ms.
	LateAfter time.Duration `json:"late_after_ns,omitempty"`
	Verify    bool          `json:"verify,omitempty"` // of echo and frame: compare what comes back byte by byte
	PID       int           `json:"pid,omitempty"`    // of the target, whose use of the machine is read too; 0 for none
	Pprof     string        `json:"pprof,omitempty"`  // the target's http://HOST:PORT/debug/pprof, for its allocations and collections
}

// Windows are the spans that figures are taken over.
type Windows struct {
	Throughput time.Duration `json:"throughput_ns"` // one value of the time series
	Mean       time.Duration `json:"mean_ns"`       // of the moving mean over it
	P99        time.Duration `json:"p99_ns"`        // one P99
	Jitter     time.Duration `json:"jitter_ns"`     // over which the P99s' standard deviation is taken
}

// Faults are what a client may do to a server.
type Faults struct {
	// SlowConns of the connections read at most SlowRate bytes a second.
	SlowConns int     `json:"slow_conns,omitempty"`
	SlowRate  float64 `json:"slow_rate,omitempty"`
	// Reset every so many requests: the connection is closed with a reset in the
	// middle of a request and made anew. 0 never.
	ResetEvery int `json:"reset_every,omitempty"`
	// Pause: all connections stop sending and reading for PauseFor, every PauseEvery.
	PauseEvery time.Duration `json:"pause_every_ns,omitempty"`
	PauseFor   time.Duration `json:"pause_for_ns,omitempty"`
}

// Any reports whether there is a fault.
func (f Faults) Any() bool { return f != Faults{} }

// Default is a closed loop on one connection with one request of 128 bytes at
// a time for ten seconds.
func Default() Plan {
	return Plan{
		Protocol: Frame, Conns: 1, Sizes: OneSize(128), Depth: 1,
		Warmup: time.Second, Duration: 10 * time.Second, Windows: DefaultWindows(),
		Seed: 1, Patience: 10 * time.Second,
	}
}

// DefaultWindows are a second, five, a tenth of a second, and five.
func DefaultWindows() Windows {
	return Windows{Throughput: time.Second, Mean: 5 * time.Second, P99: 100 * time.Millisecond, Jitter: 5 * time.Second}
}

// ErrPlan is a plan that cannot be carried out.
var ErrPlan = errors.New("load")

// Check says what is wrong with a plan, as an ErrPlan.
func (p *Plan) Check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrPlan, fmt.Sprintf(format, args...))
	}
	for _, target := range p.Targets() {
		if path, ok := strings.CutPrefix(target, "unix:"); ok {
			if path == "" {
				return bad("%q names no path", target)
			}
			continue
		}
		if _, _, err := net.SplitHostPort(target); err != nil {
			return bad("%q is no HOST:PORT and no unix:PATH", target)
		}
	}
	w := p.Windows
	f := p.Faults
	switch {
	case p.Protocol != Echo && p.Protocol != Frame && p.Protocol != Ack:
		return bad("there is no protocol %q, there are echo, frame and ack", p.Protocol)
	case p.Conns < 1 || p.Conns > MaxConns:
		return bad("%d connections are not within 1 and %d", p.Conns, MaxConns)
	case p.Depth < 1 || p.Depth > MaxDepth:
		return bad("a depth of %d is not within 1 and %d", p.Depth, MaxDepth)
	case !(p.Rate >= 0 && p.Rate <= 1e12):
		return bad("a rate of %v is not within 0 and 1e12 a second", p.Rate)
	case p.Warmup < 0 || p.Warmup > time.Hour:
		return bad("a warm-up of %v is not within 0 and 1h", p.Warmup)
	case p.Duration < 10*time.Millisecond || p.Duration > 24*time.Hour:
		return bad("a duration of %v is not within 10ms and 24h", p.Duration)
	case w.Throughput < time.Millisecond || w.P99 < time.Millisecond:
		return bad("a window is under 1ms")
	case w.Mean < w.Throughput || w.Jitter < w.P99:
		return bad("a span of windows is shorter than one of them")
	case p.Engine != "" && p.Engine != "epoll" && p.Engine != "portable":
		return bad("there is no engine %q, there are epoll and portable", p.Engine)
	case p.Threads < 0 || p.Threads > 256:
		return bad("%d threads are not within 1 and 256", p.Threads)
	case p.Patience <= 0:
		return bad("a patience of %v is none", p.Patience)
	case p.AckFile != "" && p.Protocol != Ack:
		return bad("acknowledgements are recorded with the protocol ack only")
	case p.Verify && p.Protocol == Ack:
		return bad("the protocol ack sends nothing back that could be verified")
	case f.SlowConns < 0 || f.SlowConns > p.Conns:
		return bad("%d slow connections of %d", f.SlowConns, p.Conns)
	case f.SlowConns > 0 && f.SlowRate < 1:
		return bad("slow connections need a rate of at least 1 byte a second")
	case f.ResetEvery < 0:
		return bad("a reset every %d requests", f.ResetEvery)
	case f.PauseEvery < 0 || f.PauseFor < 0 || (f.PauseEvery > 0) != (f.PauseFor > 0):
		return bad("a pause needs both how long and how often")
	}
	if err := p.Sizes.Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrPlan, err)
	}
	return nil
}

// Targets returns the addresses; connection after connection goes to the next one.
func (p *Plan) Targets() []string { return strings.Split(p.Target, ",") }

// network splits a target into what net.Dial takes.
func network(target string) (network, addr string) {
	if path, ok := strings.CutPrefix(target, "unix:"); ok {
		return "unix", path
	}
	return "tcp", target
}
