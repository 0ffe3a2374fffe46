package listen

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
)

// Proxies are the trusted proxies: a client address that one of them sends is
// accepted, and from no other peer. The zero value trusts no peer. It is safe for
// concurrent use.
type Proxies struct {
	list atomic.Pointer[access.AllowList]
}

// Update sets the trusted networks for new connections and requests.
func (p *Proxies) Update(networks []netip.Prefix) error {
	list, err := access.NewAllowList(networks)
	if err != nil {
		return err
	}
	p.list.Store(&list)
	return nil
}

// Trusts reports whether an address is that of a proxy.
func (p *Proxies) Trusts(a netip.Addr) bool {
	list := p.list.Load()
	return list != nil && a.IsValid() && list.Has(a.Unmap().WithZone(""))
}

// Listener wraps l. Connections from a trusted proxy must begin with a PROXY
// protocol header, which must be complete within that time. lacks, unless it is nil, is called with the
// address of one that begins with something else, at most once every ten seconds.
func (p *Proxies) Listener(l net.Listener, within time.Duration, lacks func(proxy net.Addr, err error)) net.Listener {
	return &proxyListener{Listener: l, proxies: p, within: within, lacks: lacks}
}

type proxyListener struct {
	net.Listener
	proxies *Proxies
	within  time.Duration
	lacks   func(proxy net.Addr, err error)

	mu     sync.Mutex
	called time.Time // lacks
}

// lacksEvery is how often lacks is called at most: every client of a proxy that sends no header makes
// a connection without one.
const lacksEvery = 10 * time.Second

func (l *proxyListener) lacking(proxy net.Addr, err error) {
	if l.lacks == nil {
		return
	}
	l.mu.Lock()
	due := time.Since(l.called) >= lacksEvery
	if due {
		l.called = time.Now()
	}
	l.mu.Unlock()
	if due {
		l.lacks(proxy, err)
	}
}

func (l *proxyListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tcp, ok := conn.(*net.TCPConn)
	if !ok || !l.proxies.Trusts(addressOf(conn)) {
		return conn, nil
	}
	return &Conn{TCPConn: tcp, listener: l}, nil
}

// addressOf is the address that a connection comes from.
func addressOf(conn net.Conn) netip.Addr {
	if a, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		return a.AddrPort().Addr()
	}
	return netip.Addr{}
}
