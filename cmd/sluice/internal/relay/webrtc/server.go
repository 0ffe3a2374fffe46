package webrtc

import (
	"crypto/sha256"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/ice/v4"
	pion "github.com/pion/webrtc/v4"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpfeed"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// A Server is the WebRTC side of a server.
type Server struct {
	*session.Host
	feeds        *rtpfeed.Feeds
	ports        *ports
	settings     pion.SettingEngine
	certificates []pion.Certificate
	addresses    []netip.Addr // that clients are given; none: the machine's own
	candidates   string       // lines with those
	peers        peers
	pending      pending
	waiting      atomic.Int64 // bytes that clients have sent and that are not read yet
	sending      atomic.Int64 // bytes that wait for clients over TCP
	sources      sources
}

// Options of a Server.
type Options struct {
	Address   string   // of the port, for UDP and TCP
	Addresses []string // IP addresses or names that clients are given; none: the machine's own
}

// A peer is one session: a publisher or a viewer, from its offer on.
type peer struct {
	server *Server
	id     string
	etag   string
	ufrag  string // under the lock of peers
	info   session.Info
	token  [sha256.Size]byte // of the token that it came with
	pc     *pion.PeerConnection
	waits  *handshake    // what has come and is not read yet
	place  func()        // leaves its place among those that have no media yet
	done   chan struct{} // closed at the end
	reason error         // of the end; set before done is closed

	// connected is called once, on a goroutine of the library, when media can flow.
	connected func()
	// ended is called once, with the reason; begun says that connected was called, and
	// has returned.
	ended func(reason error, begun bool)

	mu       sync.Mutex
	begun    bool
	over     bool
	starting sync.WaitGroup
	deadline func()      // ends that for the handshake, see listen.Late; not under the lock
	silence  *time.Timer // of a publisher's watchdog, see SetReadDeadline
}

// peers are the sessions by their ids, and the names that their connections have (ICE's
// ufrag).
type peers struct {
	mu     sync.Mutex
	byID   map[string]*peer
	ufrags map[string]*handshake
}

// pending counts the sessions that have no media connection yet. Each costs some
// goroutines and 100 KB, so they are bounded as connections without a request are.
type pending struct {
	mu        sync.Mutex
	all       int
	byAddress map[netip.Addr]int
}

// ports are the one port of UDP and that of TCP with the same number, which all
// sessions share. A packet belongs to the session whose name (ICE's ufrag) its first
// check had; others are counted and dropped.
type ports struct {
	listener  *bounded
	udp       *ice.UDPMuxDefault
	queued    *queued // of udp
	tcp       *ice.TCPMuxDefault
	strangers atomic.Int64
}

// bounded bounds the connections over TCP: some more than there are sessions, in all
// and of one address.
type bounded struct {
	net.Listener
	server *Server

	mu   sync.Mutex
	all  int
	open map[netip.Addr]int
}

// publishing is a peer's session as a publisher.
type publishing struct {
	*peer
	claim   *session.Claim
	chosen  []offered
	client  atomic.Pointer[session.Client] // nil before media can flow
	bytes   atomic.Int64
	started chan struct{} // closed when client is set
	reading sync.WaitGroup

	mu       sync.Mutex // of all that follows, and of the watchdog
	intake   *rtpmedia.Intake
	watchdog *session.Watchdog
	units    uint64       // left out because a part of them is missing
	keyed    time.Time    // when the latest key frame came, or was asked for
	heard    [2]pion.SSRC // of the tracks of chosen; 0: nothing has come yet
	repaired [2]bool      // a source sends packets of the track again
	closed   bool         // no track is taken any more
}

// sources are the publishers who can be asked for a key frame, by stream.
type sources struct {
	mu   sync.Mutex
	list map[string]*publishing
}
