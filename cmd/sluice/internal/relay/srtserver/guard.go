package srtserver

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	srt "github.com/datarhei/gosrt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/srtconn"
)

// Reasons to end a connection whose peer abuses the protocol: the library has no bounds
// of its own.
var (
	// errBuffer: srtconn.MaxBuffer is exceeded, or manyPackets.
	errBuffer = errors.New("the connection's buffer is too full")
	// errSends: a viewer sends media.
	errSends = errors.New("a viewer sends what is not asked for")
	// errAgain: packets are asked for again and again.
	errAgain = errors.New("too many packets are asked for again")
	// errSilentAcks: the peer leaves acknowledgements without an answer.
	errSilentAcks = errors.New("the peer answers no acknowledgements")
)

const (
	// packetCost is what the library needs for a packet beside its bytes: also one that
	// is empty is kept until its time has come, which may be an hour.
	packetCost = 256
	// Packets wait in a list along which the library goes each 10 ms, and for each that comes out of order:
	// there may be fewPackets, and one for each leastPacket bytes that they have: one of a transport stream.
	fewPackets, leastPacket, manyPackets = 4096, 188, 32 << 10
	// maxViewerSends is how much may be kept of what a viewer sends.
	maxViewerSends = 1 << 20
	// Packets that are sent again between two looks may be so many for each new one, and
	// some more. A good viewer on a bad line asks for each a few times.
	againFactor, againMore = 10, 5000
	// maxAcks is how many acknowledgements may have no answer (SRT draft, section 3.2.4).
	// They are sent each 10 ms, each answer is for all before it, and the library
	// remembers the others for as long as the connection lives.
	maxAcks = 3000
)

// guard ends the connections of such peers, and those that hold the most where all of them
// together hold too much: a peer that acknowledges nothing has what a viewer begins with kept for it.
type guard struct {
	most int64       // what the library may hold for all, in bytes; 0: no limit
	full atomic.Bool // nine tenths of that are in use

	mu    sync.Mutex
	conns map[uint32]*guarded // by the server's number of the connection
	peers map[uint32]*guarded // by the peer's
}

// weighed is how often, between two looks, all that is held is added up.
const weighed = 5

// guarded is a connection.
type guarded struct {
	srt.Conn
	role          session.Role
	answer        *answer // nil: it is not known
	reason        atomic.Pointer[error]
	again, unique uint64 // packets sent, at the latest look
	before        uint64 // new ones between the two before
	holds         int64  // bytes, when all was added up; of the goroutine that does
}

// add looks after a connection, which was made of a request, until remove.
func (g *guard) add(req srt.ConnRequest, conn srt.Conn, role session.Role) *guarded {
	c := &guarded{Conn: conn, role: role, answer: answerOf(req, conn)}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.conns == nil {
		g.conns, g.peers = map[uint32]*guarded{}, map[uint32]*guarded{}
	}
	g.conns[conn.SocketId()], g.peers[conn.PeerSocketId()] = c, c
	return c
}

func (g *guard) remove(c *guarded) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.conns, c.SocketId())
	if peer := c.PeerSocketId(); g.peers[peer] == c {
		delete(g.peers, peer)
	}
}

// run looks at all connections again and again, until done is closed.
func (g *guard) run(every time.Duration, done <-chan struct{}) {
	ticker := time.NewTicker(every / weighed)
	defer ticker.Stop()
	var all []*guarded
	for n := 1; ; n++ {
		select {
		case <-done:
			return
		case <-ticker.C:
		}
		g.mu.Lock()
		for _, c := range g.conns {
			all = append(all, c)
		}
		g.mu.Unlock()
		if n%weighed == 0 {
			for _, c := range all {
				if err := c.look(); err != nil {
					c.stop(err)
				}
			}
		}
		g.weigh(all)
		clear(all)
		all = all[:0]
	}
}

// weigh adds up what is held for all connections, and ends those with the most where it is too
// much.
func (g *guard) weigh(all []*guarded) {
	if g.most == 0 {
		return
	}
	var total int64
	for _, c := range all {
		var s srt.Statistics
		c.Stats(&s)
		received, sent := held(&s)
		c.holds = int64(received + sent)
		total += c.holds
	}
	g.full.Store(total > g.most/10*9)
	if total <= g.most {
		return
	}
	slices.SortFunc(all, func(a, b *guarded) int { return cmp.Compare(b.holds, a.holds) })
	for _, c := range all {
		c.stop(g.errFull())
		if total -= c.holds; total <= g.most/10*8 {
			return
		}
	}
}

// errFull says that connections hold too much together.
func (g *guard) errFull() error {
	return fmt.Errorf("%w: SRT connections hold what they may of max-memory, %d bytes", session.ErrFull, g.most)
}

// held is what the library holds for a connection: what it has received, and what it has sent.
func held(s *srt.Statistics) (received, sent uint64) {
	now := &s.Instantaneous
	return now.ByteRecvBuf + packetCost*now.PktRecvBuf, now.ByteSendBuf + packetCost*now.PktSendBuf
}

// look returns why the connection has to end, if it has.
func (c *guarded) look() error {
	var s srt.Statistics
	c.Stats(&s)
	received, sent := held(&s)
	again, unique := s.Accumulated.PktRetrans-c.again, s.Accumulated.PktSentUnique-c.unique
	allowed := againFactor*(unique+c.before) + againMore
	c.again, c.unique, c.before = s.Accumulated.PktRetrans, s.Accumulated.PktSentUnique, unique
	switch {
	case received+sent > srtconn.MaxBuffer, s.Instantaneous.PktRecvBuf > min(fewPackets+s.Instantaneous.ByteRecvBuf/leastPacket, manyPackets):
		return errBuffer
	case c.role == session.RoleViewer && received > maxViewerSends:
		return errSends
	case again > allowed:
		return errAgain
	case unanswered(c.Conn) > maxAcks:
		return errSilentAcks
	}
	return nil
}

// stop ends the connection for a reason. Any goroutine may call it.
func (c *guarded) stop(reason error) {
	c.reason.CompareAndSwap(nil, &reason)
	c.Close()
}

// why returns the reason why the connection was ended here, or else the other one.
func (c *guarded) why(otherwise error) error {
	if reason := c.reason.Load(); reason != nil {
		return *reason
	}
	return otherwise
}

// Write is the connection's Write. Its error is the reason why the connection was ended here, if it was:
// the writer may notice the end before the reader does.
func (c *guarded) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if err != nil {
		err = c.why(err)
	}
	return n, err
}

// unanswered returns how many acknowledgements the library remembers, which it does not
// show.
func unanswered(conn srt.Conn) int {
	v := reflect.Indirect(reflect.ValueOf(conn))
	if v.Kind() != reflect.Struct {
		return 0
	}
	lock, numbers := v.FieldByName("ackLock"), v.FieldByName("ackNumbers")
	if !lock.IsValid() || lock.Type() != reflect.TypeFor[sync.RWMutex]() || numbers.Kind() != reflect.Map {
		return 0 // another version of the library
	}
	mu := reflect.NewAt(lock.Type(), lock.Addr().UnsafePointer()).Interface().(*sync.RWMutex)
	mu.RLock()
	defer mu.RUnlock()
	return numbers.Len()
}

// maxRepeated is how often one report of lost packets may name packets again.
const maxRepeated = 8

// lossTopic is what the library logs when it has read a report of lost packets (SRT draft,
// section 3.2.5), on the goroutine that reads for the connection, and before it sends them.
const lossTopic = "control:recv:NAK:cif"

// Print implements srt.Logger.
func (g *guard) Print(topic string, id uint32, _ int, message func() string) {
	switch topic {
	case askTopic:
		g.asks(callerOf(message()))
	case lossTopic:
		g.loses(id, message())
	}
}

// asks answers a caller again that asks again.
func (g *guard) asks(caller uint32) {
	g.mu.Lock()
	c := g.peers[caller]
	g.mu.Unlock()
	if c != nil && c.answer != nil {
		c.answer.again()
	}
}

// loses looks at a report. The library sends a packet as often as a report names it,
// which is up to 360 times each of a second's: the reader of such a report is ended.
func (g *guard) loses(id uint32, report string) {
	if repeated(report) <= maxRepeated {
		return
	}
	g.mu.Lock()
	c := g.conns[id]
	g.mu.Unlock()
	if c != nil {
		go c.stop(errAgain) // the library ends others when nothing has been read for a while
	}
	runtime.Goexit()
}

// repeated returns how many ranges in the text of a report begin where another one ends.
// They are sorted: no others overlap.
func repeated(report string) int {
	n, last := 0, ""
	for line := range strings.Lines(report) {
		_, numbers, ok := strings.Cut(line, ": ")
		if !ok {
			continue
		}
		first, end, row := strings.Cut(strings.TrimSpace(numbers), " to ")
		if first == last {
			n++
		}
		if last = first; row {
			last = end
		}
	}
	return n
}

// HasTopic implements srt.Logger.
func (*guard) HasTopic(string) bool { return false }

// Listen implements srt.Logger.
func (*guard) Listen() <-chan srt.Log { return nil }

// Close implements srt.Logger.
func (*guard) Close() {}
