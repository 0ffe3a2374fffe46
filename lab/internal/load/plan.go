package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load/wire"
	"github.com/sluice-go/sluice/lab/internal/units"
)

// A Protocol is what a target answers.
type Protocol string

const (
	Echo  Protocol = "echo"  // the bytes of a request as they are, without any framing
	Frame Protocol = "frame" // a 4-byte big-endian length and so many bytes: the same again
	Ack   Protocol = "ack"   // a 4-byte big-endian length and so many bytes: 8 bytes, a big-endian number
)

const (
	MaxConns = 1 << 16
	MaxDepth = 1 << 12
)

// A Plan describes a load and its target. The comment of a field says what its zero
// value means; Default fills fields in, Check does not.
type Plan struct {
	Target   string       `json:"target"`   // host:port, unix:PATH, or a URL: see wire.ParseTarget
	Protocol Protocol     `json:"protocol"` // where the target leaves it open
	Requests wire.Options `json:"requests,omitzero"`
	Conns    int          `json:"conns"`
	Sizes    Sizes        `json:"sizes"` // payload bytes of a request, without its length
	// Rate is how many requests are sent a second over all connections: an open loop, in
	// which latency counts from the moment at which a request was due. 0 is a closed loop:
	// a request is sent when there is room for it.
	Rate float64 `json:"rate,omitempty"`
	// Depth is how many requests of a connection are under way at most.
	Depth    int           `json:"depth"`
	Warmup   time.Duration `json:"warmup_ns"`   // before what is measured
	Duration time.Duration `json:"duration_ns"` // of what is measured
	Seed     uint64        `json:"seed,string"`
	Engine   string        `json:"engine,omitempty"`   // epoll, portable, or empty for the best there is
	Threads  int           `json:"threads,omitempty"`  // of engine epoll; 0 for one
	Timeout  time.Duration `json:"timeout_ns"`         // without any answer, before the target is given up
	Redial   bool          `json:"redial,omitempty"`   // connections that end are made again, to the next of the targets (separated by commas)
	AckFile  string        `json:"ack_file,omitempty"` // of protocol ack: what was acknowledged, see AckRecord
	// LateAfter is how much later than intended a send may leave by the generator's
	// own fault, the error of the machine's timers; 0 for 1 ms.
	LateAfter time.Duration `json:"late_after_ns,omitempty"`
	Verify    bool          `json:"verify,omitempty"` // of echo and frame: compare what comes back byte by byte
	PID       int           `json:"pid,omitempty"`    // of the target, whose use of the machine is read too; 0 for none
}

// Default is a closed loop on one connection with one request of 128 bytes at
// a time for ten seconds.
func Default() Plan {
	return Plan{
		Protocol: Frame, Conns: 1, Sizes: OneSize(128), Depth: 1,
		Warmup: time.Second, Duration: 10 * time.Second,
		Seed: 1, Timeout: 10 * time.Second,
	}
}

// ErrPlan is a plan that cannot be carried out.
var ErrPlan = wire.ErrTarget

// Check says what is wrong with a plan, as an ErrPlan.
func (p *Plan) Check() error {
	_, err := p.check()
	return err
}

func (p *Plan) check() (targets []*wire.Target, err error) {
	for _, text := range p.Targets() {
		t, err := wire.ParseTarget(text, &p.Requests)
		if err != nil {
			return nil, err
		}
		if targets = append(targets, t); !t.Alike(targets[0]) {
			return nil, fmt.Errorf("%w: targets %q and %q differ in more than the host", ErrPlan, targets[0], t)
		}
	}
	return targets, p.checkFields(targets[0])
}

func (p *Plan) checkFields(t *wire.Target) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrPlan, fmt.Sprintf(format, args...))
	}
	speaks := p.Speaks()
	framed := speaks == string(p.Protocol)
	switch {
	case p.Threads > 0 && (t.Drive != wire.Raw || p.Engine == "portable"):
		return bad("threads are those of the engine epoll, which %v is not for", t)
	case t.Drive != wire.Raw && p.Engine == "epoll":
		return bad("the engine epoll has no TLS, WebSocket, HTTP/2 or files: leave the engine of %v open", t)
	case t.Drive == wire.Calls && p.Redial:
		return bad("redialling is not for HTTP/2 and files")
	case p.Verify && !framed && !t.Is("ws", "wss"):
		return bad("replies of %s cannot be verified", speaks)
	case p.AckFile != "" && (!framed || p.Protocol != Ack):
		return bad("acknowledgements are recorded with the protocol ack only")
	}
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
	case p.Engine != "" && p.Engine != "epoll" && p.Engine != "portable":
		return bad("there is no engine %q, there are epoll and portable", p.Engine)
	case p.Threads < 0 || p.Threads > 256:
		return bad("%d threads are not within 1 and 256", p.Threads)
	case p.Timeout <= 0:
		return bad("a timeout of %v is not above 0", p.Timeout)
	case p.Verify && p.Protocol == Ack:
		return bad("the protocol ack sends nothing back that could be verified")
	}
	if err := p.Sizes.Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrPlan, err)
	}
	if f := p.Requests.File; f != nil {
		return f.CheckBlocks(p.Sizes.Min, p.Sizes.Max, p.Sizes.Min != p.Sizes.Max)
	}
	return nil
}

// Public returns the plan as it may be shown: passwords and the values of headers that may be
// secrets are hidden.
func (p Plan) Public() Plan {
	p.Target, p.Requests = wire.Public(p.Target), p.Requests.Public()
	return p
}

// MarshalJSON writes the plan as Public has it.
func (p Plan) MarshalJSON() ([]byte, error) {
	type plan Plan
	return json.Marshal(plan(p.Public()))
}

// Targets returns the addresses; connection after connection goes to the next one. A URL
// may have commas itself: the next begins where a scheme does.
func (p *Plan) Targets() []string {
	var list []string
	for part := range strings.SplitSeq(p.Target, ",") {
		if n := len(list); n > 0 && wire.Scheme(list[0]) != "" && wire.Scheme(part) == "" {
			list[n-1] += "," + part
		} else {
			list = append(list, part)
		}
	}
	return list
}

// Speaks is the name of the protocol that the plan's requests have.
func (p *Plan) Speaks() string {
	switch scheme := wire.Scheme(p.Target); {
	case p.Requests.Own != nil:
		return "own"
	case scheme != "" && scheme != "tcp" && scheme != "tcp+tls":
		return scheme
	}
	return string(p.Protocol)
}

// HasSizes reports whether the sizes are those of what is sent or read.
func (p *Plan) HasSizes() bool {
	switch p.Speaks() {
	case "http", "https", "own":
		return false
	case "redis", "rediss":
		return p.Requests.Redis != nil && strings.Contains(strings.Join(p.Requests.Redis.Commands, " "), "{data}")
	}
	return true
}

// Reach makes a connection to each of the plan's targets, as a run does, and closes it. Of a
// file it does what ParseTarget does. With Redial one target that is there is enough.
func (p *Plan) Reach(ctx context.Context) error {
	targets, err := p.check()
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, p.Timeout)
	defer stop()
	var errs []error
	for _, t := range targets {
		if t.Is("file") {
			continue
		}
		conn, err := t.Dial(ctx)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		conn.Close()
	}
	if len(errs) > 0 && (!p.Redial || len(errs) == len(targets)) {
		return errs[0]
	}
	return nil
}

// MaxSize is the longest payload that a request may have.
const MaxSize = 64 << 20

// Sizes are the lengths that requests are drawn from: all from Min to Max are
// equally frequent.
type Sizes struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

// OneSize is always the same length.
func OneSize(n int) Sizes { return Sizes{Min: n, Max: n} }

// Check says what is wrong.
func (s Sizes) Check() error {
	if s.Min < 1 || s.Max < s.Min || s.Max > MaxSize {
		return fmt.Errorf("sizes of %d to %d bytes are not within 1 and %d", s.Min, s.Max, MaxSize)
	}
	return nil
}

// String is what ParseSizes reads.
func (s Sizes) String() string {
	if s.Min == s.Max {
		return units.Short(int64(s.Min))
	}
	return units.Short(int64(s.Min)) + ".." + units.Short(int64(s.Max))
}

// ParseSizes parses a length such as "128" or "4KiB", or a range such as "64..1KiB", its ends included.
func ParseSizes(text string) (Sizes, error) {
	low, high, ranged := strings.Cut(text, "..")
	if !ranged {
		high = low
	}
	from, errFrom := units.ParseBytes(strings.TrimSpace(low))
	to, errTo := units.ParseBytes(strings.TrimSpace(high))
	s := Sizes{int(min(from, MaxSize+1)), int(min(to, MaxSize+1))}
	if errors.Join(errFrom, errTo, s.Check()) != nil {
		return Sizes{}, fmt.Errorf("%.40q is not a size such as 128 or 4KiB, or a range such as 64..1KiB, within 1 B and %s", text, units.Exact(MaxSize))
	}
	return s, nil
}

// Draw returns a function that draws lengths, the same ones for the same seed.
// It costs some nanoseconds, and is for one goroutine. s has passed Check.
func (s Sizes) Draw(seed uint64) func() int {
	if s.Min == s.Max {
		return func() int { return s.Min }
	}
	random := rand.New(rand.NewPCG(seed, (seed+1)*0x9e3779b97f4a7c15))
	return func() int { return s.Min + random.IntN(s.Max-s.Min+1) }
}
