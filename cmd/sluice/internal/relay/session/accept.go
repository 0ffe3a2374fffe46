package session

import (
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/waiting"
	"github.com/sluice-go/sluice/live"
)

// An Arrived connection has come to where its protocol begins.
type Arrived struct {
	Conn    net.Conn        // borrowed until the function that serves it returns
	Address string          // of the peer, true behind a proxy: host:port, or listen.Unknown
	Secure  bool            // over TLS
	Place   *listen.Arrival // held until Leave: at the first request, at the latest when it has been served
	Came    func()          // called when the first request is complete: reads and writes fail if that takes too long
}

// Reporting is l, of whose errors, such as that there is no free descriptor, the log has a line
// a second: where connections come and go quickly, the next one fails as often as not. One
// goroutine at a time may call Accept. setting is the name of the listener's setting.
func (h *Host) Reporting(l net.Listener, setting string) net.Listener {
	return &reporting{Listener: l, host: h, setting: setting}
}

type reporting struct {
	net.Listener
	host    *Host
	setting string
	logged  time.Time
	missed  int // since then
}

func (l *reporting) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil || l.host.Closing() || errors.Is(err, net.ErrClosed) {
		return conn, err
	}
	if now := time.Now(); now.Sub(l.logged) >= time.Second {
		l.host.Log.Warn("cannot accept", "listener", l.setting, "error", err, "unlogged", l.missed)
		l.logged, l.missed = now, 0
	} else {
		l.missed++
	}
	return conn, err
}

// Accept accepts connections until l is closed: it reads the headers of proxies, gives each
// connection a place among arrivals, makes the TLS handshake unless secure is nil, and
// calls serve on a goroutine of its own, as Group.runOn does. setting is the name of the
// listener's setting. The error is nil when the server is shutting down.
func (h *Host) Accept(l net.Listener, setting string, secure *tls.Config, arrivals *listen.Arrivals, serve func(Arrived) (next func(over func()))) error {
	var pause time.Duration
	l = h.Reporting(l, setting)
	for {
		conn, err := l.Accept()
		if err != nil {
			if h.Closing() {
				return nil
			}
			if errors.Is(err, net.ErrClosed) {
				return err
			}
			// A temporary error, for example no free descriptors. The pauses are
			// those of net/http.
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			waiting.For(pause, h.Ctx.Done())
			continue
		}
		pause = 0
		var place *listen.Arrival
		if address, ok := listen.Address(conn); ok {
			place = arrivals.Come(address, conn, func(error) { conn.Close() })
		}
		if !h.Group.runOn(conn, func(conn net.Conn) (next func(over func())) {
			return h.arrive(conn, place, setting, secure, arrivals, serve)
		}) && place != nil {
			place.Leave()
		}
	}
}

// arrive serves a connection, which has its place already unless place is nil.
func (h *Host) arrive(conn net.Conn, place *listen.Arrival, setting string, secure *tls.Config, arrivals *listen.Arrivals, serve func(Arrived) (next func(over func()))) (next func(over func())) {
	conn, from, err := listen.Unwrap(conn)
	a := Arrived{Conn: conn, Address: from.String(), Secure: secure != nil}
	if err != nil {
		h.Log.Debug("no PROXY protocol header", "listener", setting, "address", a.Address, "error", err)
		return nil
	}
	if place == nil {
		address, _ := netip.ParseAddrPort(a.Address)
		place = arrivals.Come(address.Addr(), conn, func(error) { conn.Close() })
	}
	a.Place = place
	if err := place.Wait(h.Ctx); err != nil {
		h.Log.Debug("connection turned away", "listener", setting, "address", a.Address, "error", err)
		return nil
	}
	defer a.Place.Leave()
	a.Came = h.Late(conn)
	defer a.Came()
	if secure != nil {
		encrypted := tls.Server(live.NewWire(conn), secure)
		if err = encrypted.HandshakeContext(h.Ctx); err != nil {
			h.Log.Debug("TLS handshake failed", "listener", setting, "address", a.Address, "error", err)
			return nil
		}
		a.Place.Progress()
		a.Conn = encrypted
	}
	return serve(a)
}

// Late makes reads and writes of conn fail when its peer has taken too long to make a request, unless
// came, which is called when it is complete, was called before.
func (h *Host) Late(conn net.Conn) (came func()) {
	return listen.Late(conn, h.Times.Header, func() { conn.SetDeadline(time.Unix(1, 0)) })
}
