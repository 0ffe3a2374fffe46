package load

import (
	"context"
	"encoding/binary"
	"io"
	"math"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A simulated target answers frames one after the other on each connection,
// after a time that depends on when it comes to them.
type simulated struct {
	began time.Time
	takes func(at time.Duration) time.Duration
	over  chan struct{}
}

func newSimulated(takes func(at time.Duration) time.Duration) *simulated {
	return &simulated{time.Now(), takes, make(chan struct{})}
}

// close ends what still sleeps.
func (s *simulated) close() {
	close(s.over)
	synctest.Wait()
}

func (s *simulated) dial(context.Context, string) (net.Conn, error) {
	near, far := net.Pipe()
	frames := make(chan []byte, 1000) // what a socket would hold
	go s.read(far, frames)
	go s.answer(far, frames)
	return near, nil
}

func (s *simulated) read(conn net.Conn, frames chan<- []byte) {
	defer close(frames)
	for {
		frame := make([]byte, 4)
		if _, err := io.ReadFull(conn, frame); err != nil {
			return
		}
		n := int(binary.BigEndian.Uint32(frame))
		frame = append(frame, make([]byte, n)...)
		if _, err := io.ReadFull(conn, frame[4:]); err != nil {
			return
		}
		frames <- frame
	}
}

func (s *simulated) answer(conn net.Conn, frames <-chan []byte) {
	defer conn.Close()
	for frame := range frames {
		if d := s.takes(time.Since(s.began)); d > 0 {
			select {
			case <-time.After(d):
			case <-s.over:
				return
			}
		}
		if _, err := conn.Write(frame); err != nil {
			return
		}
	}
}

// simulate runs a plan against a target on virtual time.
func simulate(t *testing.T, change func(*Plan), takes func(at time.Duration) time.Duration) (r *Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := Default()
		p.Target, p.Verify = "virtual:1", true
		change(&p)
		s := newSimulated(takes)
		defer s.close()
		var err error
		if r, err = run(t.Context(), p, portable, s.dial, nil); err != nil {
			t.Fatal(err)
		}
	})
	return r
}

func always(d time.Duration) func(time.Duration) time.Duration {
	return func(time.Duration) time.Duration { return d }
}

// within reports whether a is b, but for a hundredth.
func within(a, b time.Duration) bool {
	return math.Abs(float64(a-b)) <= 0.01*float64(b)
}

func TestATargetThatSleepsShowsThat(t *testing.T) {
	const sleep = 10 * time.Millisecond
	for name, change := range map[string]func(*Plan){
		"closed":               func(p *Plan) {},
		"closed, connections":  func(p *Plan) { p.Conns = 7 },
		"open":                 func(p *Plan) { p.Rate = 50 },
		"open, connections":    func(p *Plan) { p.Rate, p.Conns = 200, 8 },
		"open, range of sizes": func(p *Plan) { p.Rate, p.Conns, p.Sizes = 100, 4, Sizes{Min: 1, Max: 5000} },
		"open, no warm-up":     func(p *Plan) { p.Rate, p.Warmup = 50, 0 },
		"open, short warm-up":  func(p *Plan) { p.Rate, p.Warmup = 50, 1300*time.Millisecond },
	} {
		r := simulate(t, change, always(sleep))
		if !r.Valid {
			t.Fatalf("%s: %v", name, r.Reasons)
		}
		for _, got := range []time.Duration{r.Latency.Min, r.Latency.P50, r.Latency.P99, r.Latency.Max} {
			if !within(got, sleep) {
				t.Errorf("%s: %+v", name, r.Latency)
				break
			}
		}
		if len(r.Series) != 10 || len(r.Due) != 10 || !within(r.Due[0].P99, sleep) || r.Gap > time.Second {
			t.Errorf("%s: %d windows of throughput, %d of latency, %v without an answer", name, len(r.Series), len(r.Due), r.Gap)
		}
		for i, s := range r.Series {
			if s.At != time.Duration(i+1)*time.Second || s.Rate != float64(s.Bytes) {
				t.Errorf("%s: window %d is %+v", name, i, s)
			}
		}
		if (r.Service != nil) != (r.Plan.Rate > 0) {
			t.Errorf("%s: service time %v", name, r.Service)
		}
	}
}

// Nothing is due in most of the time at such a rate.
func TestAnswersThatWereNotAskedForAreNotMissing(t *testing.T) {
	for _, rate := range []float64{0.2, 1, 1.9} {
		if r := simulate(t, func(p *Plan) { p.Rate = rate }, always(10*time.Millisecond)); r.Gap > 10*time.Millisecond {
			t.Errorf("at %v requests a second nothing was answered for %v", rate, r.Gap)
		}
	}
	stall := func(at time.Duration) time.Duration { return max(0, 5200*time.Millisecond-at) }
	if r := simulate(t, func(p *Plan) { p.Rate, p.Warmup = 1, 0 }, stall); r.Gap < 4*time.Second {
		t.Errorf("a stall of 5.2 s is %v", r.Gap)
	}
}

// The loop that waits for its answers does not see what others would.
func TestAStallShowsInTheOpenLoopOnly(t *testing.T) {
	stall := func(at time.Duration) time.Duration {
		const from, length = 8030 * time.Millisecond, time.Second
		if at >= from && at < from+length {
			return from + length - at
		}
		return time.Millisecond
	}
	const conns = 4
	open := simulate(t, func(p *Plan) { p.Conns, p.Rate, p.Duration = conns, 400, 20*time.Second }, stall)
	closed := simulate(t, func(p *Plan) { p.Conns, p.Duration = conns, 20*time.Second }, stall)
	for _, r := range []*Result{open, closed} {
		if !r.Valid {
			t.Fatal(r.Reasons)
		}
	}
	// A twentieth of the requests were to be sent during the stall, and waited for
	// half a second in the mean, and then for those before them.
	if open.Latency.P99 < 800*time.Millisecond || !within(open.Latency.Max, time.Second) {
		t.Errorf("open loop: %+v", open.Latency)
	}
	if closed.Latency.P99 > 2*time.Millisecond || !within(closed.Latency.Max, time.Second) {
		t.Errorf("closed loop: %+v", closed.Latency)
	}
	// One request a connection was under way then: the rest is waiting to be sent.
	if open.Service.P99 > 2*time.Millisecond || !within(open.Service.Max, time.Second) {
		t.Errorf("service time: %+v", open.Service)
	}
	for _, r := range []*Result{open, closed} {
		if !within(r.Gap, time.Second) {
			t.Errorf("%v without an answer", r.Gap)
		}
		// On virtual time a processor is hardly ever missing.
		if runtime.GOOS == "linux" && (r.GapCrowded == nil || *r.GapCrowded > 0.3 || r.Series[8].Crowded == nil) {
			t.Errorf("how crowded it was: %v, by the second %+v", r.GapCrowded, r.Series[8])
		}
	}
	// By the time due it is in the window in which it began.
	if w := open.Due; len(w) != 20 || w[7].P99 < 10*w[6].P99 {
		t.Errorf("windows %+v", w)
	}
	if open.Late != 0 || open.Shortfall != 0 {
		t.Errorf("late %v, shortfall %v: that was the target", open.Late, open.Shortfall)
	}
}

// A stall that lasts to the end must not hide the requests that it holds.
func TestAStallAtTheEndIsWaitedFor(t *testing.T) {
	stall := func(at time.Duration) time.Duration {
		if at >= 10700*time.Millisecond {
			return max(0, 12*time.Second-at)
		}
		return time.Millisecond
	}
	r := simulate(t, func(p *Plan) { p.Rate = 100 }, stall)
	if !r.Valid || !within(r.Latency.Max, 1300*time.Millisecond) || r.Latency.Count != 1000 {
		t.Errorf("%v %+v", r.Reasons, r.Latency)
	}
}

// What was sent on a connection that fell silent counts with the time that it had waited, though the load
// goes on over another one.
func TestLostRequestsCountWithTheirWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Default()
		p.Target, p.Conns, p.Rate, p.Redial, p.Timeout = "simulated:1", 4, 100, true, time.Second
		p.Warmup, p.Duration = 0, 10*time.Second
		var dials atomic.Int64
		r, err := RunOver(t.Context(), p, func(context.Context, string) (net.Conn, error) {
			near, far := net.Pipe()
			if dials.Add(1) == 1 {
				go io.Copy(io.Discard, far)
			} else {
				go io.Copy(far, far)
			}
			return near, nil
		})
		if err != nil || !r.Valid {
			t.Fatalf("%v, %+v", err, r)
		}
		if r.Errors != 1 || r.Redials != 1 || r.Latency.Count != 1000 || r.Service.Max < p.Timeout {
			t.Errorf("%d errors, %d redials, latency of %d, service time at most %v", r.Errors, r.Redials, r.Latency.Count, r.Service.Max)
		}
	})
}

// What connecting took stands in the result: it is in no other figure.
func TestWhatConnectingTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Default()
		p.Target, p.Conns, p.Warmup, p.Duration = "simulated:1", 4, 0, time.Second
		p.Rate = 100
		r, err := RunOver(t.Context(), p, func(context.Context, string) (net.Conn, error) {
			<-time.After(time.Second)
			near, far := net.Pipe()
			go io.Copy(far, far)
			return near, nil
		})
		if err != nil || !r.Valid || r.Connecting != 4*time.Second || r.Measured != time.Second {
			t.Errorf("%v, connecting took %v of %v: %+v", err, r.Connecting, r.Measured, r.Reasons)
		}
	})
}

// Connections that are made anew do not make a run valid in which requests are lost.
func TestManyLostRequestsMakeARunInvalid(t *testing.T) {
	for _, last := range []int{5, 50} { // the request without an answer
		synctest.Test(t, func(t *testing.T) {
			p := Default()
			p.Target, p.Rate, p.Redial = "simulated:1", 100, true
			p.Warmup, p.Duration = 0, 10*time.Second
			r, err := RunOver(t.Context(), p, func(context.Context, string) (net.Conn, error) {
				near, far := net.Pipe()
				go func() {
					defer far.Close()
					io.CopyN(far, far, int64(last-1)*132)
					io.CopyN(io.Discard, far, 132)
				}()
				return near, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if want := uint64(1000 / last); r.Lost != want || r.FailedRequests() != want || r.Requests != 1000-want || r.FailedShare() != 1/float64(last) {
				t.Errorf("%d lost, %d answered", r.Lost, r.Requests)
			}
			if valid := last == 50; r.Valid != valid || !valid && (len(r.Reasons) != 1 || r.Reasons[0].Code != RepliesFailed || r.Latency != nil) {
				t.Errorf("one of %d lost: valid %v, %v", last, r.Valid, r.Reasons)
			}
		})
	}
}

// A server closes connections on which no request comes, the first one included, and may say so before: HAProxy
// does. One that accepts none fails the run.
func TestHTTPServersEndIdleConnections(t *testing.T) {
	const timeout = "HTTP/1.1 408 Request Time-out\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
	for _, c := range []struct {
		idle time.Duration
		says string
	}{{0, ""}, {time.Second, ""}, {1100 * time.Millisecond, timeout}} {
		synctest.Test(t, func(t *testing.T) {
			p := Default()
			p.Target, p.Conns, p.Rate = "http://simulated:80/", 4, 0.5
			p.Warmup, p.Duration = 0, 20*time.Second
			r, err := RunOver(t.Context(), p, func(context.Context, string) (net.Conn, error) {
				near, far := net.Pipe()
				go func() {
					defer far.Close()
					buf := make([]byte, 1000)
					for {
						far.SetReadDeadline(time.Now().Add(c.idle))
						if _, err := far.Read(buf); err != nil {
							if err != io.EOF {
								io.WriteString(far, c.says)
							}
							return
						}
						io.WriteString(far, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
					}
				}()
				return near, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if want := c.idle > 0; r.Valid != want || want && (r.Errors > 0 || r.Redials == 0 || r.Requests != 10) {
				t.Errorf("idle for %+v: %d errors (%s), %d redials, %d requests", c, r.Errors, r.Error, r.Redials, r.Requests)
			}
		})
	}
}

func TestRatesAreHeld(t *testing.T) {
	for _, c := range []struct {
		rate  float64
		conns int
		sizes Sizes
	}{
		{100, 1, OneSize(128)},
		{1000, 64, OneSize(128)},
		{333, 7, OneSize(1)},
		{30, 100, OneSize(16)},
		{1000, 16, Sizes{Min: 100, Max: 9000}},
	} {
		r := simulate(t, func(p *Plan) { p.Rate, p.Conns, p.Sizes = c.rate, c.conns, c.sizes }, always(0))
		if math.Abs(r.IOPS/c.rate-1) > 0.01 {
			t.Errorf("%+v: %v", c, r.IOPS)
		}
		for _, s := range r.Series {
			// One request more or less of a connection may fall into a window.
			if math.Abs(float64(s.Requests)-c.rate) > max(0.01*c.rate, 1) {
				t.Errorf("%+v: %v in the window up to %v", c, s.Requests, s.At)
			}
		}
		if !r.Valid || r.Late > 0 {
			t.Errorf("%+v: %v, late %v", c, r.Reasons, r.Late)
		}
	}
}

// On virtual time a second may cost more of a processor than a second, which says nothing.
func TestASimulatedTargetMayBeCostly(t *testing.T) {
	r := simulate(t, func(p *Plan) { p.Rate, p.Warmup, p.Duration = 50, 0, 200*time.Millisecond }, func(time.Duration) time.Duration {
		// All processors would have to work for more than the run takes.
		for before := processTime(); processTime()-before < int64(30*time.Millisecond); {
		}
		return 0
	})
	if !r.Valid || r.Busy > 0 {
		t.Errorf("%v, busy %v", r.Reasons, r.Busy)
	}
}

func TestDepthIsHowManyAreUnderWay(t *testing.T) {
	// One after the other, each takes 10 ms: a request waits for those before it.
	for _, depth := range []int{1, 2, 16} {
		r := simulate(t, func(p *Plan) { p.Depth = depth }, always(10*time.Millisecond))
		if !r.Valid || !within(r.Latency.P50, time.Duration(depth)*10*time.Millisecond) || math.Abs(r.IOPS-100) > 1 {
			t.Errorf("depth %d: %v, %v a second, %+v", depth, r.Reasons, r.IOPS, r.Latency)
		}
	}
}

func TestATargetThatIsTooSlowMakesTheRunInvalid(t *testing.T) {
	r := simulate(t, func(p *Plan) { p.Rate = 200 }, always(10*time.Millisecond))
	if r.Valid || r.Latency != nil || r.Service != nil || r.Due != nil {
		t.Errorf("%+v", r)
	}
	if len(r.Reasons) != 1 || r.Reasons[0].Code != TargetBehind || !r.Behind() || !strings.Contains(r.Reasons[0].Text, "200 requests a second") || r.Shortfall < 0.4 || r.Shortfall > 0.6 {
		t.Errorf("%v, shortfall %v", r.Reasons, r.Shortfall)
	}
	if math.Abs(r.IOPS-100) > 1 {
		t.Errorf("%v a second", r.IOPS)
	}
}

func TestATargetThatNeverAnswersGivesNoFigures(t *testing.T) {
	for _, rate := range []float64{0, 10} {
		r := simulate(t, func(p *Plan) { p.Rate, p.Timeout = rate, 3*time.Second }, always(time.Hour))
		if r.Valid || r.Requests != 0 || r.IOPS != 0 || r.Latency != nil || !strings.Contains(r.Error, "no answer for 3s") {
			t.Errorf("rate %v: %+v", rate, r)
		}
	}
}

func TestAnInterruptKeepsWhatThereIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Default()
		p.Target, p.Rate = "virtual:1", 100
		ctx, stop := context.WithTimeout(t.Context(), 4500*time.Millisecond)
		defer stop()
		s := newSimulated(always(time.Millisecond))
		defer s.close()
		r, err := run(ctx, p, portable, s.dial, nil)
		if err != nil || !r.Interrupted || !r.Valid || r.Requests != 350 || len(r.Series) != 3 || r.Measured != 3500*time.Millisecond {
			t.Errorf("%v %+v", err, r)
		}
	})
}

func TestProgressIsToldBySecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Default()
		p.Target, p.Rate, p.Warmup, p.Duration = "virtual:1", 100, 2*time.Second, 3*time.Second
		var seen []Progress
		s := newSimulated(always(time.Millisecond))
		defer s.close()
		if _, err := run(t.Context(), p, portable, s.dial, func(p Progress) { seen = append(seen, p) }); err != nil {
			t.Fatal(err)
		}
		if len(seen) != 5 {
			t.Fatalf("%+v", seen)
		}
		for i, p := range seen {
			if p.At != time.Duration(i%2+1+i/4*2)*time.Second || p.Measuring != (i >= 2) || p.Requests != 100 {
				t.Errorf("%d: %+v", i, p)
			}
		}
	})
}
