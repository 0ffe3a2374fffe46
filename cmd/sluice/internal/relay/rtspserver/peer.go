package rtspserver

import (
	"crypto/rand"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpfeed"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtsp"
)

const (
	// maxRequests is how many requests a peer may make before it plays or records.
	// Clients make one for each track and four more, twice with a password.
	maxRequests = 64
	// maxDenied is how many times a peer may be refused for its token.
	maxDenied = 4
	// silence is for how long a viewer over UDP may say nothing, as the Session header
	// tells it (RFC 2326, section 12.37).
	silence = 60 * time.Second
)

// limits bound the messages of a peer. A description has one or two KiB.
var limits = rtsp.Limits{Line: 4 << 10, Header: 16 << 10, Fields: 64, Body: 32 << 10}

var (
	errRequests = fmt.Errorf("%d requests and no media", maxRequests)
)

// peer is one RTSP connection. It publishes or plays one stream.
type peer struct {
	server   *Server
	place    *listen.Arrival
	came     func() // called at the first request
	conn     net.Conn
	address  string     // of the peer: host:port, or listen.Unknown
	udp      netip.Addr // where its media may go to and come from; not valid over TLS and for an unknown peer
	protocol string
	r        *sluice.BufReader
	reader   *rtsp.Reader
	out      *session.Output

	id       string // of the session
	nonce    string // of its challenge
	requests int
	denied   int
	heard    time.Time // when the latest request came
	began    time.Time // to play
	before   int64     // bytes read until then

	play   *playing   // nil: it does not play
	record *recording // nil: it does not publish
}

// playing is a peer's session as a viewer.
type playing struct {
	info    session.Info
	options session.PlayOptions
	stream  *live.Stream
	formats []rtpmedia.Format
	absent  rtpfeed.Absent
	done    func() // releases what AdmitPlay counted

	chosen [2]bool // tracks that were set up, by number
	tcp    bool
	udp    *datagrams // nil with TCP
	feed   *rtpfeed.Feed
	viewer *live.Viewer // nil before PLAY
}

// recording is a peer's session as a publisher.
type recording struct {
	peer   *peer
	info   session.Info
	tracks []rtpmedia.Track
	intake *rtpmedia.Intake
	claim  *session.Claim

	channels map[uint8]int // tracks by the channel for RTP
	setUp    []bool
	tcp      bool
	udp      arrivals

	client   *session.Client // nil before RECORD
	watchdog *session.Watchdog
	reported time.Time // when the latest receiver reports were sent
	over     chan struct{}
	watching sync.WaitGroup
}

// arrivals are what a publisher sends over UDP: packets that are copied where they come,
// and published by a goroutine of the session.
type arrivals struct {
	recording *recording
	tracks    []*udpTrack // by track; nil: not over UDP
	packets   chan arrival
	failed    bool // what comes counts no more; drain's
	bytes     atomic.Int64
	waiting   atomic.Int64 // bytes in packets
	dropped   atomic.Int64 // packets for which there was no room

	mu    sync.RWMutex
	err   error // why frames could not be published
	ended bool  // nothing more goes into packets
}

// An arrival is a packet that came over UDP.
type arrival struct {
	track  int
	report bool // RTCP
	packet mem.Buf
	at     time.Time
}

// udpTrack is one track of a publisher over UDP.
type udpTrack struct {
	arrivals  *arrivals
	track     int
	running   atomic.Bool
	ports     *ports
	rtp, rtcp netip.AddrPort // of the peer
}

func newPeer(s *Server, a session.Arrived) *peer {
	x := &peer{
		server: s, place: a.Place, came: a.Came, conn: a.Conn, address: a.Address, protocol: session.RTSP,
		r:   &sluice.BufReader{Allocator: s.Alloc},
		out: session.NewOutput(a.Conn, s.Times.Answer),
		id:  rand.Text(), nonce: rand.Text(),
	}
	if a.Secure {
		x.protocol = session.RTSPS
	} else if from, err := netip.ParseAddrPort(a.Address); err == nil && s.ports != nil {
		x.udp = from.Addr().Unmap()
	}
	x.r.Reset(a.Conn)
	x.reader = rtsp.NewReader(x.r, limits)
	return x
}

// close closes the connection, ends what it was used for and releases its buffers.
func (x *peer) close() {
	x.conn.Close()
	x.r.Recycle()
}

// interrupt ends a wait for the peer when the server shuts down. Viewers are not
// interrupted: they get the rest of their streams.
func (x *peer) interrupt() { x.conn.SetReadDeadline(time.Unix(1, 0)) }

func (x *peer) running() bool {
	return x.play != nil && x.play.viewer != nil || x.record != nil && x.record.running()
}

// lingering is how long a session goes on reading after its last message.
const lingering = 500 * time.Millisecond

// reply returns a response with what each has.
func (x *peer) reply(req *rtsp.Request, status int) *rtsp.Response {
	resp := req.Reply(status)
	resp.Header.Add("Server", "sluice")
	if x.play != nil || x.record != nil {
		resp.Header.Add("Session", rtsp.Session{ID: x.id, Timeout: silence}.String())
	}
	return resp
}

// write sends a response.
func (x *peer) write(resp *rtsp.Response) error {
	p, err := bytesOf(resp)
	if err == nil {
		_, err = x.out.Write(p)
	}
	return err
}

// bytesOf returns a response on the wire. Its body is released.
func bytesOf(resp *rtsp.Response) ([]byte, error) {
	defer resp.Release()
	p, err := resp.AppendHead(nil)
	if err == nil && resp.Body.Valid() {
		p = append(p, resp.Body.Bytes()...)
	}
	return p, err
}

// stream is the name of the stream that the connection is about, empty before it is
// known.
func (x *peer) stream() string {
	switch {
	case x.play != nil:
		return x.play.info.Stream
	case x.record != nil:
		return x.record.info.Stream
	}
	return ""
}

// body returns text as a body.
func body(p []byte) mem.Buf { return mem.Wrap(p, nil) }

// running reports whether RECORD was answered.
func (r *recording) running() bool { return r.client != nil }

// any reports whether a track is set up.
func (a *arrivals) any() bool {
	for _, u := range a.tracks {
		if u != nil {
			return true
		}
	}
	return false
}
