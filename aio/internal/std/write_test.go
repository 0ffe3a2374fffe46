package std

import (
	"bytes"
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/mem"
)

func TestGathersWhatIsQueued(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("writes are not joined there")
	}
	x := newFixture(t, op.Settings{})
	near, far := x.tcp()
	x.narrow(near, far)
	flood := patterned(1 << 20)
	x.must(x.w.Write("flood", near, flood))
	x.eventually("the flood is under way", func() bool { return x.d.flying(near) == 1 })
	want := bytes.Clone(flood)
	const n = 100
	for i := range n {
		part := patterned(50 + i)
		want = append(want, part...)
		switch i % 3 {
		case 0:
			x.must(x.w.Write(i, near, part))
		case 1:
			b := x.alloc.Get(len(part))
			copy(b.Bytes(), part)
			x.must(x.w.WriteBuf(i, near, b, time.Time{}))
		default:
			a, b := x.alloc.Get(20), x.alloc.Get(len(part)-20)
			copy(a.Bytes(), part)
			copy(b.Bytes(), part[20:])
			x.must(x.w.WriteMemory(i, near, mem.NewMemory(a, b), time.Time{}))
		}
	}
	before := x.w.Stats().WriteCalls
	got := make(chan []byte, 1)
	go func() {
		b := make([]byte, len(want))
		io.ReadFull(far, b)
		got <- b
	}()
	for i := -1; i < n; {
		results, err := x.next()
		x.must(err)
		for _, r := range results {
			if i >= 0 && r.Context != i || i < 0 && r.Context != "flood" || r.Error != nil {
				t.Fatalf("%v completed with %v, want %d", r.Context, r.Error, i)
			}
			i++
		}
	}
	if !bytes.Equal(<-got, want) {
		t.Error("other bytes came than were sent")
	}
	if calls := x.w.Stats().WriteCalls - before; calls > n/5 {
		t.Errorf("%d writes took %d calls", n, calls)
	}
}

// flying is how many writes of conn are being carried out.
func (d *Driver) flying(conn net.Conn) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.table.conns[conn]; c != nil {
		return len(c.writes.flight)
	}
	return 0
}

// Two writes that go out together are reported one by one, when the peer takes
// the first and nothing more.
func TestReportsAWriteWhenItIsOut(t *testing.T) {
	x := newFixture(t, op.Settings{})
	near, far := x.tcp()
	x.narrow(near, far)
	flood, small := patterned(2<<20), patterned(1000)
	x.must(x.w.Write("first flood", near, flood))
	x.eventually("it is under way", func() bool { return x.d.flying(near) == 1 })
	x.must(x.w.Write("small", near, small))
	x.must(x.w.Write("last", near, patterned(gatherBytes-2000)))
	x.must(x.w.Write("behind", near, small))
	go io.CopyN(io.Discard, far, int64(len(flood)+len(small)))
	var order []any
	for len(order) < 2 {
		results, err := x.next()
		x.must(err)
		for _, r := range results {
			x.must(r.Error)
			order = append(order, r.Context)
		}
	}
	if order[0] != "first flood" || order[1] != "small" {
		t.Errorf("completed: %v", order)
	}
	before := x.w.Stats().WriteCalls
	x.fence()
	if calls := x.w.Stats().WriteCalls - before; calls > 2 {
		t.Errorf("%d calls while the peer takes nothing", calls)
	}
}

// The deadline of a write that went into a gather ends this write alone.
func TestDeadlineInAGather(t *testing.T) {
	x := newFixture(t, op.Settings{})
	near, far := x.tcp()
	x.narrow(near, far)
	flood := patterned(2 << 20)
	x.must(x.w.Write("flood", near, flood))
	x.eventually("it is under way", func() bool { return x.d.flying(near) == 1 })
	deadline := time.Now().Add(100 * time.Millisecond)
	x.must(x.w.Write("kept", near, []byte("kept")))
	x.must(x.w.WriteTimeout("late", near, []byte("late"), deadline))
	x.must(x.w.Write("end", near, []byte("end")))
	x.wantOne("late", op.ErrDeadline, 0)
	got := make(chan []byte, 1)
	go func() {
		b := make([]byte, len(flood)+7)
		io.ReadFull(far, b)
		got <- b
	}()
	for n := 0; n < 3; {
		results, err := x.next()
		x.must(err)
		for _, r := range results {
			x.must(r.Error)
			n++
		}
	}
	if b := <-got; string(b[len(flood):]) != "keptend" {
		t.Errorf("the peer has %q", b[len(flood):])
	}
}

func TestCountsPartialWrites(t *testing.T) {
	x := newFixture(t, op.Settings{})
	var got []byte
	c := newScripted()
	c.write = func(p []byte) (int, error) {
		n := min(3, len(p))
		got = append(got, p[:n]...)
		return n, nil
	}
	m := mem.NewMemory(x.alloc.Get(5), x.alloc.Get(8))
	var want []byte
	for _, p := range m.Buffers {
		copy(p, "abcdefgh")
		want = append(want, p...)
	}
	x.must(x.w.WriteMemory("memory", c, m, time.Time{}))
	x.wantOne("memory", nil, 13)
	if !bytes.Equal(got, want) {
		t.Errorf("it wrote %q, want %q", got, want)
	}

	errBroken := errors.New("broken")
	for _, w := range []struct {
		n    int
		err  error
		want error
		size int
	}{
		{0, nil, io.ErrShortWrite, 0},
		{2, errBroken, errBroken, 2},
		{4, errBroken, nil, 4},
		{0, net.ErrClosed, op.ErrConnClosed, 0},
	} {
		c := newScripted()
		c.write = func(p []byte) (int, error) { return w.n, w.err }
		x.must(x.w.Write("write", c, make([]byte, 4)))
		x.wantOne("write", w.want, w.size)
	}
	c = newScripted()
	c.write = func(p []byte) (int, error) { return -1, nil }
	x.must(x.w.Write("write", c, make([]byte, 4)))
	if r := x.one(); r.Error == nil || r.Size != 0 {
		t.Errorf("a Write that returned -1: %d, %v", r.Size, r.Error)
	}
}

// Datagrams are neither cut off nor joined.
func TestKeepsDatagramsApart(t *testing.T) {
	x := newFixture(t, op.Settings{})
	a, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	x.must(err)
	defer a.Close()
	b, err := net.DialUDP("udp", nil, a.LocalAddr().(*net.UDPAddr))
	x.must(err)
	defer b.Close()
	data := patterned(9000)
	const n = 5
	for i := range n {
		x.must(x.w.Write(i, b, data[:9000-i]))
	}
	for i := range n {
		x.must(x.w.Read(i, a, nil))
	}
	reads := 0
	for reads < n {
		results, err := x.next()
		x.must(err)
		for _, r := range results {
			if r.Error != nil {
				t.Fatalf("%v: %v", r.Operation, r.Error)
			}
			if r.Operation == op.Read {
				if r.Context != reads || r.Size != 9000-reads || !bytes.Equal(r.Buffer, data[:r.Size]) {
					t.Errorf("datagram %v has %d bytes", r.Context, r.Size)
				}
				reads++
			}
		}
	}
}

func TestQueueLimitRefuses(t *testing.T) {
	x := newFixture(t, op.Settings{QueueLimit: 100})
	near, far := x.pipe()
	x.overfill(near, far)
	if s := x.w.Stats(); s.Refused != 1 || s.Slow != 0 || s.Conns != 1 {
		t.Errorf("%+v", s)
	}
	go io.Copy(io.Discard, far)
	x.wantOne("large", nil, 1000)
	x.must(x.w.Write("large again", near, make([]byte, 1000)))
	x.wantOne("large again", nil, 1000)
}

func TestQueueLimitCloses(t *testing.T) {
	x := newFixture(t, op.Settings{QueueLimit: 100, CloseWhenFull: true})
	near, far := x.pipe()
	x.overfill(near, far)
	if s := x.w.Stats(); s.Refused != 1 || s.Slow != 1 || s.Freed != 1 || s.Conns != 0 {
		t.Errorf("%+v", s)
	}
	ended := map[any]error{}
	for len(ended) < 2 {
		results, err := x.next()
		x.must(err)
		for _, r := range results {
			ended[r.Context] = r.Error
		}
	}
	if ended["large"] != op.ErrQueueFull || ended["read"] != op.ErrQueueFull {
		t.Errorf("%v", ended)
	}
	if _, err := io.Copy(io.Discard, far); err != nil {
		t.Errorf("the peer's read: %v", err)
	}
}

// overfill has a large write pending of which the peer has a part, a read, and
// a write that is refused.
func (x *fixture) overfill(near, far net.Conn) {
	x.Helper()
	x.must(x.w.Write("large", near, make([]byte, 1000)))
	_, err := io.ReadFull(far, make([]byte, 950))
	x.must(err)
	x.must(x.w.Read("read", near, nil))
	if err := x.w.WriteBuf("refused", near, x.alloc.Get(60), time.Time{}); !errors.Is(err, op.ErrQueueFull) {
		x.Fatalf("a write beyond the limit: %v", err)
	}
}

// A Memory of many small parts takes few calls, also of connections that do not
// gather: a call for each of them, each looking for its place, takes seconds.
func TestWritesSmallPartsTogether(t *testing.T) {
	x := newFixture(t, op.Settings{})
	const parts, size = 20_000, 20
	var got []byte
	calls := 0
	c := newScripted()
	c.write = func(p []byte) (int, error) {
		calls++
		n := max(1, len(p)-calls%7) // and some of them write a part only
		got = append(got, p[:n]...)
		return n, nil
	}
	want := patterned(parts * size)
	m := mem.NewMemory()
	for i := range parts {
		b := x.alloc.Get(size)
		copy(b.Bytes(), want[i*size:])
		m.Append(b)
	}
	x.must(x.w.WriteMemory("memory", c, m, time.Time{}))
	x.wantOne("memory", nil, parts*size)
	if !bytes.Equal(got, want) {
		t.Error("other bytes came than were sent")
	}
	if most := parts*size/writeTogether + 10; calls > most {
		t.Errorf("%d parts of %d bytes took %d calls, want %d at most", parts, size, calls, most)
	}
}
