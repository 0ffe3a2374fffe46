package load

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/loopback"
	"github.com/sluice-go/sluice/lab/internal/sink/acked"
)

// engines are all that there are here.
func engines() []string {
	if runtime.GOOS == "linux" {
		return []string{"epoll", "portable"}
	}
	return []string{"portable"}
}

// A target is a server for one test, on one listener.
type target struct {
	net.Listener
	mu      sync.Mutex
	conns   []net.Conn
	serving sync.WaitGroup
}

// serve serves each connection with a function until the test ends.
func serve(t *testing.T, network, addr string, each func(conn net.Conn)) *target {
	t.Helper()
	l, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	g := &target{Listener: l}
	g.serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			g.mu.Lock()
			g.conns = append(g.conns, conn)
			g.mu.Unlock()
			g.serving.Go(func() {
				defer conn.Close()
				each(conn)
			})
		}
	})
	t.Cleanup(g.end)
	return g
}

// end closes everything, also in the middle.
func (g *target) end() {
	g.Close()
	g.mu.Lock()
	for _, c := range g.conns {
		c.Close()
	}
	g.mu.Unlock()
	g.serving.Wait()
}

func (g *target) name() string {
	if g.Addr().Network() == "unix" {
		return "unix:" + g.Addr().String()
	}
	return g.Addr().String()
}

func echo(conn net.Conn) { io.Copy(conn, struct{ io.Reader }{conn}) }

// acknowledge answers frames by their number on the connection.
func acknowledge(seen func(number uint64, payload []byte)) func(net.Conn) {
	var mu sync.Mutex
	number := uint64(0)
	return func(conn net.Conn) {
		var head [4]byte
		for {
			if _, err := io.ReadFull(conn, head[:]); err != nil {
				return
			}
			payload := make([]byte, binary.BigEndian.Uint32(head[:]))
			if _, err := io.ReadFull(conn, payload); err != nil {
				return
			}
			mu.Lock()
			number++
			n := number
			seen(n, payload)
			mu.Unlock()
			if _, err := conn.Write(binary.BigEndian.AppendUint64(nil, n)); err != nil {
				return
			}
		}
	}
}

// runShort runs a plan with a timeout that is short, so that a target that is silent is soon
// noticed. A dial has the same time, which a busy machine may need for it: the run is then
// repeated with more.
func runShort(t *testing.T, p Plan) (*Result, error) {
	t.Helper()
	r, err := Run(t.Context(), p, nil)
	var late net.Error
	for errors.As(err, &late) && late.Timeout() && p.Timeout < 30*time.Second {
		p.Timeout *= 4
		r, err = Run(t.Context(), p, nil)
	}
	return r, err
}

// short is a plan that is over soon.
func short(engine, target string) Plan {
	p := Default()
	p.Engine, p.Target, p.Protocol, p.Verify = engine, target, Echo, true
	p.Warmup, p.Duration, p.Conns, p.Depth = 20*time.Millisecond, 200*time.Millisecond, 5, 3
	return p
}

func TestEveryEngineGetsBackWhatItSends(t *testing.T) {
	t.Parallel()
	tcp := serve(t, "tcp", "127.0.0.1:0", echo)
	unix := serve(t, "unix", filepath.Join(t.TempDir(), "s"), echo)
	all := []Sizes{OneSize(1), OneSize(128), {Min: 1, Max: 40}, {Min: 1, Max: 300000}, OneSize(1 << 20)}
	for _, engine := range engines() {
		for _, c := range []struct {
			on       *target
			protocol Protocol
			sizes    []Sizes
			rate     float64
		}{
			{tcp, Echo, all, 0},
			{tcp, Frame, all, 500},
			{tcp, Frame, all[3:4], 0},
			{unix, Frame, all[2:4], 0},
			{unix, Echo, all[1:2], 500},
		} {
			for _, sizes := range c.sizes {
				p := short(engine, c.on.name())
				p.Warmup, p.Duration = 10*time.Millisecond, 50*time.Millisecond
				p.Protocol, p.Sizes, p.Rate = c.protocol, sizes, c.rate
				if engine == "epoll" {
					p.Threads = 2
				}
				r, err := Run(t.Context(), p, nil)
				// A slow machine gets the time that it needs for a few requests.
				for tries := 0; err == nil && r.Requests == 0 && r.Errors == 0 && tries < 5; tries++ {
					p.Duration *= 3
					r, err = Run(t.Context(), p, nil)
				}
				if err != nil {
					t.Fatal(err)
				}
				if r.Errors > 0 || r.Requests == 0 || r.Bytes < r.Requests {
					t.Errorf("%s %s %+v: %d requests, %d errors: %s", engine, c.on.name(), c, r.Requests, r.Errors, r.Error)
				}
			}
		}
	}
}

func TestWhatIsAcknowledgedIsTakenDown(t *testing.T) {
	t.Parallel()
	for _, engine := range engines() {
		seen := map[uint64]uint32{}
		sizes := map[uint64]int{}
		g := serve(t, "tcp", "127.0.0.1:0", acknowledge(func(n uint64, p []byte) {
			seen[n], sizes[n] = crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli)), len(p)
		}))
		p := short(engine, g.name())
		p.Protocol, p.Verify, p.Sizes, p.AckFile = Ack, false, Sizes{Min: 1, Max: 5000}, filepath.Join(t.TempDir(), "acks")
		r, err := Run(t.Context(), p, nil)
		if err != nil || r.Errors > 0 {
			t.Fatal(err, r.Error)
		}
		g.end()
		f, err := os.Open(p.AckFile)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		n, unlike := 0, map[uint32]bool{}
		if err := acked.Read(f, func(number uint64, sum, length uint32) error {
			n++
			unlike[sum] = true
			if seen[number] != sum || sizes[number] != int(length) {
				return fmt.Errorf("number %d: sum %x of %d bytes, the target saw %x of %d", number, sum, length, seen[number], sizes[number])
			}
			return nil
		}); err != nil {
			t.Errorf("%s: %v", engine, err)
		}
		if n != len(seen) || uint64(n) < r.Requests {
			t.Errorf("%s: %d taken down, %d seen, %d requests", engine, n, len(seen), r.Requests)
		}
		// But for those of some few bytes no two payloads are the same.
		if len(unlike) < n*9/10 {
			t.Errorf("%s: %d sums of %d payloads", engine, len(unlike), n)
		}
	}
}

func TestATargetThatMisbehavesIsNamed(t *testing.T) {
	t.Parallel()
	first := func(change func(conn net.Conn, p []byte)) func(net.Conn) {
		return func(conn net.Conn) {
			p := make([]byte, 1000)
			n, _ := io.ReadAtLeast(conn, p, 132)
			change(conn, p[:n])
			io.Copy(io.Discard, conn)
		}
	}
	for _, c := range []struct {
		name string
		does func(net.Conn)
		want error
		says string
	}{
		{"hangs up", first(func(conn net.Conn, p []byte) { conn.Close() }), ErrHungUp, "ended the connection"},
		{"hangs up in a reply", first(func(conn net.Conn, p []byte) { conn.Write(p[:50]); conn.Close() }), ErrHungUp, "ended the connection in a reply, behind 50 bytes of it"},
		{"resets", first(func(conn net.Conn, p []byte) { conn.(*net.TCPConn).SetLinger(0); conn.Close() }), ErrHungUp, "ended the connection"},
		{"wrong byte", first(func(conn net.Conn, p []byte) { p[100] ^= 1; conn.Write(p[:60]); conn.Write(p[60:]) }), ErrAnswer, "byte 100 of the 132"},
		{"wrong length", first(func(conn net.Conn, p []byte) { p[3]++; conn.Write(p) }), ErrAnswer, "is 0x81 and not 0x80, which was sent"},
		{"more than was asked", first(func(conn net.Conn, p []byte) { conn.Write(append(p, bytes.Repeat(p, 5)...)) }), ErrAnswer, ""},
		{"silent", first(func(conn net.Conn, p []byte) {}), ErrSilent, "no answer for "},
		{"half", first(func(conn net.Conn, p []byte) { conn.Write(p[:len(p)-1]) }), ErrUnfinished, "stopped behind 131 bytes and did not go on for "},
	} {
		for _, engine := range engines() {
			g := serve(t, "tcp", "127.0.0.1:0", c.does)
			p := short(engine, g.name())
			p.Protocol, p.Depth, p.Conns, p.Timeout = Frame, 1, 1, time.Minute
			p.Duration = 5 * time.Second
			if c.want == ErrSilent || c.want == ErrUnfinished {
				p.Timeout = 300 * time.Millisecond
			}
			r, err := runShort(t, p)
			if err != nil {
				t.Fatal(err)
			}
			if r.Valid || r.Errors == 0 || !strings.Contains(r.Error, c.says) || !strings.Contains(r.Error, c.want.Error()) {
				t.Errorf("%s, %s: valid %v, %d errors: %s", engine, c.name, r.Valid, r.Errors, r.Error)
			}
			if c.name == "silent" && !strings.Contains(r.Error, r.Plan.Timeout.String()) {
				t.Errorf("%s: after %v it says %s", engine, r.Plan.Timeout, r.Error)
			}
			g.end()
		}
	}
}

// What the generator used is known of a run that ends early too.
func TestARunThatTheTargetEndsSaysHowBusyTheGeneratorWas(t *testing.T) {
	t.Parallel()
	for _, engine := range engines() {
		g := serve(t, "tcp", "127.0.0.1:0", func(conn net.Conn) { io.CopyN(conn, struct{ io.Reader }{conn}, 132*500) })
		p := short(engine, g.name())
		p.Protocol, p.Conns, p.Depth, p.Warmup, p.Duration = Frame, 1, 1, 0, time.Minute
		r, err := runShort(t, p)
		if err != nil {
			t.Fatal(err)
		}
		if r.Valid || r.Requests == 0 || r.Busy <= 0 {
			t.Errorf("%s: valid %v, %d requests, busy %v", engine, r.Valid, r.Requests, r.Busy)
		}
	}
}

func TestNobodyThereIsAnError(t *testing.T) {
	t.Parallel()
	address := loopback.Free(t)
	for _, engine := range engines() {
		p := short(engine, address)
		p.Protocol, p.Verify, p.AckFile = Ack, false, filepath.Join(t.TempDir(), "acks")
		if err := os.WriteFile(p.AckFile, []byte("of an earlier run"), 0o644); err != nil {
			t.Fatal(err)
		}
		var refused *net.OpError
		if r, err := Run(t.Context(), p, nil); r != nil || !errors.As(err, &refused) || !strings.Contains(err.Error(), "connection 1 of 5") {
			t.Errorf("%s: %v %v", engine, r, err)
		}
		if text, err := os.ReadFile(p.AckFile); err != nil || string(text) != "of an earlier run" {
			t.Errorf("%s: what an earlier run had acknowledged is now %q, %v", engine, text, err)
		}
	}
}

// What a request costs the generator is the kernel's work, not the collector's.
func TestARequestAllocatesNothing(t *testing.T) {
	for _, engine := range engines() {
		g := serve(t, "tcp", "127.0.0.1:0", func(conn net.Conn) {
			p := make([]byte, 4+128)
			for {
				if _, err := io.ReadFull(conn, p); err != nil {
					return
				}
				if _, err := conn.Write(p[:8]); err != nil {
					return
				}
			}
		})
		p := short(engine, g.name())
		p.Protocol, p.Verify, p.Depth, p.AckFile = Ack, false, 1, filepath.Join(t.TempDir(), "acks")
		p.Duration = 500 * time.Millisecond
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := Run(t.Context(), p, nil)
		runtime.ReadMemStats(&after)
		if err != nil || r.Errors > 0 {
			t.Fatal(err, r.Error)
		}
		// What is made for the run does not grow with it.
		if got := after.Mallocs - before.Mallocs; got > 5000+r.Requests/50 {
			t.Errorf("%s: %d allocations for %d requests", engine, got, r.Requests)
		}
	}
}

// A run that is over does not wait for a connection that no target accepts.
func TestARunEndsWhileItIsDialling(t *testing.T) {
	t.Parallel()
	for _, engine := range engines() {
		g := serve(t, "tcp", "127.0.0.1:0", func(conn net.Conn) { io.CopyN(conn, conn, 1000) })
		p := short(engine, g.name())
		p.Redial, p.Conns, p.Timeout, p.Duration = true, 2, time.Minute, 300*time.Millisecond
		targets, err := p.check()
		if err != nil {
			t.Fatal(err)
		}
		e, err := chooseEngine(&p, targets)
		if err != nil {
			t.Fatal(err)
		}
		var dials atomic.Int64
		dial := func(ctx context.Context, target string) (net.Conn, error) {
			if dials.Add(1) <= 2 {
				return new(net.Dialer).DialContext(ctx, "tcp", target)
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		began := time.Now()
		if _, err := run(t.Context(), p, e, dial, nil); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s: it took %v", engine, took)
		}
		g.end()
	}
}

// A target dies and another takes over: what was under way is counted as
// failed, and the load goes on.
func TestConnectionsAreMadeAnewWhenThatIsAsked(t *testing.T) {
	t.Parallel()
	for _, engine := range engines() {
		r := redialled(t, engine, time.Second)
		// A machine that stood still in that time gets more.
		for d := 4 * time.Second; (r.Redials == 0 || r.Errors == 0 || r.Requests == 0) && d < time.Minute; d *= 4 {
			r = redialled(t, engine, d)
		}
		if r.Redials == 0 || r.Errors == 0 || r.Requests == 0 || len(r.Reasons) > 0 && r.Reasons[0].Code != GeneratorFull {
			t.Errorf("%s: %d redials, %d errors, %d requests, %v", engine, r.Redials, r.Errors, r.Requests, r.Reasons)
		}
	}
}

// redialled runs a load for some time on two targets, the first of which dies.
func redialled(t *testing.T, engine string, d time.Duration) *Result {
	t.Helper()
	second := serve(t, "tcp", "127.0.0.1:0", echo)
	defer second.end()
	var once sync.Once
	dies := make(chan struct{})
	first := serve(t, "tcp", loopback.Free(t), func(conn net.Conn) {
		p := make([]byte, 100<<10)
		io.ReadFull(conn, p)
		once.Do(func() { close(dies) })
	})
	go func() {
		<-dies
		first.end()
	}()
	p := short(engine, first.name()+","+second.name())
	p.Verify, p.Redial, p.Depth = false, true, 1000
	p.Duration, p.Conns = d, 4
	r, err := Run(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAnInterruptEndsEveryEngineSoon(t *testing.T) {
	t.Parallel()
	for _, engine := range engines() {
		g := serve(t, "tcp", "127.0.0.1:0", echo)
		p := short(engine, g.name())
		p.Duration = time.Hour
		ctx, stop := context.WithCancel(t.Context())
		windows, measured := 0, uint64(0)
		r, err := Run(ctx, p, func(p Progress) {
			if p.Measuring {
				measured += p.Requests
			}
			if windows++; windows >= 3 && measured > 0 {
				stop()
			}
		})
		if err != nil || !r.Interrupted || r.Requests == 0 || len(r.Series) < 1 {
			t.Errorf("%s: %v %+v", engine, err, r)
		}
		stop()
		g.end()
	}
}

// The paced loop of the epoll engine, in real time: it is the schedule that
// counts, and what is left open at the end.
func TestAStallShowsInRealTime(t *testing.T) {
	t.Parallel()
	for _, engine := range engines() {
		first := sync.OnceValue(time.Now) // when a request came
		g := serve(t, "tcp", "127.0.0.1:0", func(conn net.Conn) {
			p := make([]byte, 128)
			for {
				if _, err := io.ReadFull(conn, p); err != nil {
					return
				}
				if at := time.Since(first()); at > 500*time.Millisecond && at < 800*time.Millisecond {
					<-time.After(800*time.Millisecond - at)
				}
				conn.Write(p)
			}
		})
		p := short(engine, g.name())
		p.Rate, p.Conns, p.Depth, p.Warmup, p.Duration = 200, 2, 1, 0, 1500*time.Millisecond
		p.LateAfter = 5 * time.Second // a busy machine is no matter here
		r, err := Run(t.Context(), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Errors > 0 {
			t.Fatalf("%s: %s", engine, r.Error)
		}
		if r.Latency == nil {
			t.Logf("%s: the machine is too busy: %v", engine, r.Reasons)
			g.end()
			continue
		}
		if r.Latency.P90 < 50*time.Millisecond || r.Latency.Max < 250*time.Millisecond {
			t.Errorf("%s: %+v", engine, r.Latency)
		}
		// A machine that stood still at the end may have left a few unsent, which is said.
		if got := float64(r.Latency.Count) + 300*r.Shortfall; got < 297 || got > 303 {
			t.Errorf("%s: %d requests of 300, %v were not sent", engine, r.Latency.Count, r.Shortfall)
		}
		g.end()
	}
}
