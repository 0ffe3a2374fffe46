package webrtc

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/pion/ice/v4"
	pion "github.com/pion/webrtc/v4"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpfeed"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// Open opens the ports of a server whose viewers are sent the packets of feeds.
func Open(host *session.Host, feeds *rtpfeed.Feeds, o Options) (*Server, error) {
	s := &Server{Host: host, feeds: feeds}
	certificate, err := newCertificate(time.Now())
	if err != nil {
		return nil, err
	}
	s.certificates = []pion.Certificate{*certificate}
	if s.addresses, err = resolve(host.Ctx, o.Addresses); err != nil {
		return nil, err
	}
	if s.ports, err = openPorts(o.Address, s); err != nil {
		return nil, err
	}
	s.candidates = candidates(s.addresses, s.ports.number())
	e := &s.settings
	e.LoggerFactory = logs{host.Log}
	e.SetLite(true)
	e.SetNetworkTypes([]pion.NetworkType{pion.NetworkTypeUDP4, pion.NetworkTypeUDP6, pion.NetworkTypeTCP4, pion.NetworkTypeTCP6})
	e.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	e.SetIncludeLoopbackCandidate(s.ports.loopback())
	e.SetICETimeouts(lostAfter/2, 0, 2*time.Second) // silence says when a client is lost
	e.DisableActiveTCP(true)
	e.SetDTLSRetransmissionInterval(200 * time.Millisecond)
	e.SetFireOnTrackBeforeFirstRTP(true)
	return s, e.SetAnsweringDTLSRole(pion.DTLSRoleServer)
}

// ErrAddress means that a name that clients are to be given has no address.
var ErrAddress = errors.New("no address for a name")

// Addr is where media is sent and received.
func (s *Server) Addr() net.Addr { return s.ports.listener.Addr() }

// Drain ends the sessions that have no media yet, when the server shuts down.
func (s *Server) Drain() {
	for _, p := range s.peers.all() {
		p.mu.Lock()
		begun := p.begun
		p.mu.Unlock()
		if !begun {
			p.end(session.ErrClosing)
		}
	}
}

// Close closes the ports, when all sessions have ended.
func (s *Server) Close() { s.ports.close() }

// newCertificate makes the certificate of all sessions. Clients get its hash with the
// answer, so its names and times mean nothing to them.
func newCertificate(now time.Time) (*pion.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	name := pkix.Name{CommonName: "sluice"}
	return pion.NewCertificate(key, x509.Certificate{SerialNumber: serial, Version: 2, Issuer: name, Subject: name, NotBefore: now.AddDate(0, 0, -1), NotAfter: now.AddDate(20, 0, 0)})
}

// resolve returns IP addresses for addresses and names.
func resolve(ctx context.Context, list []string) ([]netip.Addr, error) {
	var found []netip.Addr
	for _, text := range list {
		if a, err := netip.ParseAddr(text); err == nil {
			found = append(found, a.Unmap().WithZone("")) // a zone means nothing to clients
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", text)
		cancel()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrAddress, err)
		}
		for _, a := range addresses {
			found = append(found, a.Unmap().WithZone(""))
		}
	}
	return found, nil
}

// candidates returns the lines of an answer for addresses: UDP first, then TCP (RFC 8839,
// section 5.1; RFC 6544, section 4.5).
func candidates(addresses []netip.Addr, port int) string {
	var b strings.Builder
	for i, a := range addresses {
		// Of host candidates, the first preferred (RFC 8445, section 5.1.2.1).
		udp := 126<<24 | (65535-i)<<8 | 255
		tcp := 90<<24 | (65535-i)<<8 | 255
		fmt.Fprintf(&b, "a=candidate:%d 1 udp %d %s %d typ host\r\n", 2*i+1, udp, a, port)
		fmt.Fprintf(&b, "a=candidate:%d 1 tcp %d %s %d typ host tcptype passive\r\n", 2*i+2, tcp, a, port)
	}
	return b.String()
}
