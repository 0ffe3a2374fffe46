package listen

import (
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
)

// Proxies are the peers that may speak for others: what they say of a
// connection's true address is believed, and nobody else's word is. The zero
// value trusts no one. It is for all goroutines at once.
type Proxies struct {
	list atomic.Pointer[access.AllowList]
}

// Update sets the networks that are trusted, for connections and requests that
// come from now on.
func (p *Proxies) Update(networks []netip.Prefix) error {
	list, err := access.NewAllowList(networks)
	if err != nil {
		return err
	}
	p.list.Store(&list)
	return nil
}

// trusts reports whether an address is that of a proxy.
func (p *Proxies) trusts(a netip.Addr) bool {
	list := p.list.Load()
	return list != nil && a.IsValid() && list.Has(a.Unmap().WithZone(""))
}

// Listener accepts from l connections of which those from a proxy begin with a
// header of the PROXY protocol, which has to come whole within that time.
func (p *Proxies) Listener(l net.Listener, within time.Duration) net.Listener {
	return &proxyListener{l, p, within}
}

type proxyListener struct {
	net.Listener
	proxies *Proxies
	within  time.Duration
}

func (l *proxyListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tcp, ok := conn.(*net.TCPConn)
	if !ok || !l.proxies.trusts(addressOf(conn)) {
		return conn, nil
	}
	return &Conn{TCPConn: tcp, within: l.within}, nil
}

// addressOf is the address that a connection comes from.
func addressOf(conn net.Conn) netip.Addr {
	if a, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		return a.AddrPort().Addr()
	}
	return netip.Addr{}
}
