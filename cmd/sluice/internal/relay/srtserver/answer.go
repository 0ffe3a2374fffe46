package srtserver

import (
	"net"
	"reflect"
	"regexp"
	"strconv"
	"time"

	srt "github.com/datarhei/gosrt"
	"github.com/datarhei/gosrt/packet"
)

// An answer is what a caller was answered when its request was taken. Where that is lost the caller asks
// again, each 250 ms, and the library leaves that without an answer: the call would fail after 3 s, and a
// publisher's stream would be taken until idle has passed.
type answer struct {
	until     time.Time // later the caller has given up
	to, from  net.Addr
	peer      uint32
	handshake *packet.CIFHandshake
	send      func(packet.Packet)
}

// answerOf returns what the library has answered to a request that it has made conn of; nil when the
// library has changed.
func answerOf(req srt.ConnRequest, conn srt.Conn) (a *answer) {
	defer func() {
		if recover() != nil {
			a = nil
		}
	}()
	a = &answer{until: time.Now().Add(idle), peer: req.PeerSocketId()}
	r := reflect.ValueOf(req).Elem()
	hidden(r, "addr", &a.to)
	hidden(r, "localAddr", &a.from)
	hidden(r, "handshake", &a.handshake)
	hidden(reflect.ValueOf(conn).Elem(), "onSend", &a.send)
	return a
}

// hidden copies a field that the library does not show. It panics when there is no such field.
func hidden[T any](v reflect.Value, name string, to *T) {
	f := v.FieldByName(name)
	*to = *reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Interface().(*T)
}

// again sends it again.
func (a *answer) again() {
	if time.Now().After(a.until) {
		return
	}
	p := packet.NewPacket(a.to)
	h := p.Header()
	h.LocalAddr, h.IsControlPacket, h.ControlType, h.DestinationSocketId = a.from, true, packet.CTRLTYPE_HANDSHAKE, a.peer
	p.MarshalCIF(a.handshake)
	a.send(p)
}

// askTopic is what the library logs when it has read a request, before it looks whether it has answered it.
const askTopic = "handshake:recv:cif"

var conclusion = regexp.MustCompile(`handshakeType: 0xffffffff \(.{1,20}\)\n   srtSocketId: (0x[0-9a-f]{8})\n`)

// callerOf returns the socket of the caller in the text of a request; 0 for one that asks for no connection
// yet.
func callerOf(request string) uint32 {
	m := conclusion.FindStringSubmatch(request)
	if m == nil {
		return 0
	}
	n, _ := strconv.ParseUint(m[1], 0, 32)
	return uint32(n)
}
