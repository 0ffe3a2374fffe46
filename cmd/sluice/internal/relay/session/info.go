package session

import (
	"net/netip"
	"net/url"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/edge"
)

// The protocols of sessions.
const (
	RTMP  = "rtmp"
	RTMPS = "rtmps"
	FLV   = "flv"
	FLVS  = "flvs"
	WS    = "ws"
	WSS   = "wss"
	RTSP  = "rtsp"
	RTSPS = "rtsps"
	WHIP  = "whip"
	WHEP  = "whep"
	HLS   = "hls"
	HLSS  = "hlss"
	SRT   = "srt"
)

// An Info says who wants to publish or to watch what.
type Info struct {
	Stream   string     // APP/NAME as StreamName made it
	Protocol string     // one of the constants
	Address  string     // of the peer, host:port; only the host when a proxy gave no port
	Agent    string     // the peer's name for its program; truncated when it is long
	Query    url.Values // of the address or of the stream name
	Token    string     // id of the verified token, if there is one; Host.Begin fills it in
	Via      edge.Path  // the servers that the request has passed
	Peer     bool       // another server of the cluster, admitted as such: it answers for its viewers, and no ban is for it
}

// IP is the address without its port, the zero value when it is not known.
func (i Info) IP() netip.Addr { return i.Request(access.Play).Address.Addr() }

// Request returns the request for the gate.
func (i Info) Request(a access.Action) access.Request {
	address, err := netip.ParseAddrPort(i.Address)
	if err != nil {
		// Some proxies give no port. An invalid address becomes the zero address,
		// which is in no allow list.
		ip, _ := netip.ParseAddr(i.Address)
		address = netip.AddrPortFrom(ip, 0)
	}
	return access.Request{Action: a, Stream: i.Stream, Address: address, Protocol: i.Protocol, Agent: i.Agent, Query: i.Query}
}

// Limits of what a peer may send about itself.
const (
	maxAgent = 120 // bytes of an agent that are kept
	maxWait  = 60 * time.Second
)
