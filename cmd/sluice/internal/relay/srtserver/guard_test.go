package srtserver

import (
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	srt "github.com/datarhei/gosrt"
	"github.com/datarhei/gosrt/circular"
	"github.com/datarhei/gosrt/packet"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/srtconn"
)

// fakeConn is a connection with figures, of the form that the library's has.
type fakeConn struct {
	srt.Conn
	id         uint32
	ackLock    sync.RWMutex
	ackNumbers map[uint32]time.Time
	stats      srt.Statistics
}

func (c *fakeConn) Stats(s *srt.Statistics) { *s = c.stats }
func (c *fakeConn) SocketId() uint32        { return c.id }
func (c *fakeConn) PeerSocketId() uint32    { return ^c.id }
func (c *fakeConn) Close() error            { return nil }

func (c *fakeConn) Write([]byte) (int, error) { return 0, io.EOF }

// The writer may find the connection closed before the reader does: it says why.
func TestWritesSayWhyTheConnectionWasEnded(t *testing.T) {
	c := &guarded{Conn: &fakeConn{}, role: session.RoleViewer}
	p := srtconn.NewPaced(c)
	piece := make([]byte, 188)
	if _, err := p.Write(piece); err != io.ErrClosedPipe {
		t.Errorf("the peer has closed it: %v", err)
	}
	c.stop(errSends)
	if _, err := p.Write(piece); err != errSends {
		t.Errorf("%v, want %v", err, errSends)
	}
}

func TestGuardLetsGoodViewersBe(t *testing.T) {
	f := &fakeConn{}
	c := &guarded{Conn: f, role: session.RoleViewer}
	for second := range 100 {
		f.stats.Accumulated.PktSentUnique += 1000
		f.stats.Accumulated.PktRetrans += 9000 // a very bad line
		f.stats.Instantaneous.ByteSendBuf, f.stats.Instantaneous.PktSendBuf = 10<<20, 8000
		if err := c.look(); err != nil {
			t.Fatal(second, err)
		}
	}
}

// kept has n packets of so many bytes wait for their time.
func kept(n, size uint64) func(*fakeConn) {
	return func(f *fakeConn) {
		f.stats.Instantaneous.PktRecvBuf, f.stats.Instantaneous.ByteRecvBuf = n, n*size
	}
}

func TestGuardEndsWhatCostsTooMuch(t *testing.T) {
	for _, c := range []struct {
		role   session.Role
		change func(*fakeConn)
		want   error
	}{
		{session.RoleViewer, func(f *fakeConn) { f.stats.Instantaneous.ByteRecvBuf = 2 << 20 }, errSends},
		{session.RolePublisher, func(f *fakeConn) { f.stats.Instantaneous.ByteRecvBuf = 2 << 20 }, nil},
		{session.RolePublisher, func(f *fakeConn) { f.stats.Instantaneous.PktRecvBuf = 200_000 }, errBuffer},
		// The library walks along all of them a hundred times a second: 50,000 take a quarter of a processor.
		{session.RolePublisher, kept(10_000, 0), errBuffer},
		{session.RolePublisher, kept(40_000, 188), errBuffer},
		{session.RolePublisher, kept(4000, 0), nil},
		{session.RolePublisher, kept(20_000, 188), nil},
		{session.RolePublisher, kept(20_000, 1316), nil},
		{session.RoleViewer, func(f *fakeConn) { f.stats.Instantaneous.ByteSendBuf = 40 << 20 }, errBuffer},
		{session.RoleViewer, func(f *fakeConn) { f.stats.Accumulated.PktRetrans = 6000 }, errAgain},
		{session.RoleViewer, func(f *fakeConn) {
			f.ackLock.Lock()
			defer f.ackLock.Unlock()
			f.ackNumbers = map[uint32]time.Time{}
			for i := range uint32(maxAcks + 1) {
				f.ackNumbers[i] = time.Now()
			}
		}, errSilentAcks},
	} {
		f := &fakeConn{}
		c.change(f)
		if err := (&guarded{Conn: f, role: c.role}).look(); err != c.want {
			t.Errorf("%v, want %v", err, c.want)
		}
	}
}

// The library's own connection has what unanswered looks at.
func TestUnansweredAcknowledgementsAreSeen(t *testing.T) {
	config := srt.DefaultConfig()
	l, err := srt.Listen("srt", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan srt.Conn, 1)
	go func() {
		var conn srt.Conn
		if req, err := l.Accept2(); err == nil {
			conn, _ = req.Accept()
		}
		accepted <- conn
	}()
	config.StreamId = "s"
	caller, err := srt.Dial("srt", l.Addr().String(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer caller.Close()
	conn := <-accepted
	defer conn.Close()
	for deadline := time.Now().Add(time.Minute); unanswered(conn) == 0; {
		if time.Now().After(deadline) {
			t.Fatal("an acknowledgement is never under way: the library has changed")
		}
	}
}

func TestReportsThatRepeat(t *testing.T) {
	report := func(numbers ...uint32) string {
		var c packet.CIFNAK
		for _, n := range numbers {
			c.LostPacketSequenceNumber = append(c.LostPacketSequenceNumber, circular.New(n, packet.MAX_SEQUENCENUMBER))
		}
		return c.String()
	}
	for _, c := range []struct {
		numbers []uint32
		want    int
	}{
		{nil, 0},
		{[]uint32{1, 1, 2, 5, 7, 9}, 0},
		{[]uint32{1, 1, 1, 1, 1, 1}, 2},
		{[]uint32{1, 5, 5, 9, 9, 9}, 2},
	} {
		if got := repeated(report(c.numbers...)); got != c.want {
			t.Errorf("%v: %d, want %d", c.numbers, got, c.want)
		}
	}
}

// What all connections hold together has a bound: those with the most are ended, and no more viewers
// come meanwhile.
func TestGuardBoundsWhatAllHold(t *testing.T) {
	g := &guard{most: 10 << 20}
	var all []*guarded
	for i := range 10 {
		f := &fakeConn{id: uint32(i)}
		f.stats.Instantaneous.ByteSendBuf = 512 << 10
		if i == 3 || i == 7 {
			f.stats.Instantaneous.ByteSendBuf = 5 << 20
		}
		all = append(all, g.add(nil, f, session.RoleViewer))
	}
	g.weigh(slices.Clone(all))
	for i, c := range all {
		if ended := c.reason.Load() != nil; ended != (i == 3 || i == 7) {
			t.Errorf("connection %d ended: %v", i, ended)
		}
		if i == 3 && !errors.Is(c.why(nil), session.ErrFull) {
			t.Error(c.why(nil))
		}
	}
	if !g.full.Load() {
		t.Error("more viewers may come")
	}
	g.weigh(all[:2])
	if g.full.Load() {
		t.Error("no more viewers may come")
	}
	unlimited := &guard{}
	unlimited.weigh(all)
	if unlimited.full.Load() {
		t.Error("full without a limit")
	}
}
