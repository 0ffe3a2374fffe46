package relay

import (
	"encoding/binary"
	"net"
	"slices"
	"testing"
	"time"
)

// A caller whose answer is lost asks again, and is answered again, by the same connection.
func TestSRTAnswersThatAreLost(t *testing.T) {
	s, address := startSRT(t, nil)
	c, err := net.Dial("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const kind, cookie, socket = 20, 28, 24 // places in a handshake
	var got []byte
	ask := func(p []byte) bool { // again and again, as callers do
		c.Write(p)
		c.SetReadDeadline(time.Now().Add(250 * time.Millisecond))
		for room := make([]byte, 1500); ; {
			n, err := c.Read(room)
			if err != nil {
				return false
			}
			if n >= 64 && room[0] == 0x80 && room[1] == 0 {
				got = slices.Clone(room[16:n])
				return true
			}
		}
	}
	relayEventually(t, "there is a cookie", func() bool {
		return ask(srtHandshake(1, 0, func(p []byte) { binary.BigEndian.PutUint32(p[16:], 4); binary.BigEndian.PutUint16(p[22:], 2) }))
	})
	request := srtHandshake(0xffffffff, binary.BigEndian.Uint32(got[cookie:]), func(p []byte) { p[16+7] = 5 }) // with a stream id
	request = append(request, 0, 5, 0, 4)
	id := []byte("publish:live/s\x00\x00")
	for word := range slices.Chunk(id, 4) {
		slices.Reverse(word)
		request = append(request, word...)
	}
	relayEventually(t, "it is answered", func() bool { return ask(request) })
	first := got
	if binary.BigEndian.Uint32(first[kind:]) != 0xffffffff || binary.BigEndian.Uint32(first[socket:]) == 1234 {
		t.Fatalf("it is refused: %x", first)
	}
	relayEventually(t, "it is answered again", func() bool { return ask(request) })
	if !slices.Equal(got, first) {
		t.Errorf("another answer: %x, %x", got, first)
	}
	if n := len(s.host.Register.List()); n != 1 {
		t.Errorf("%d sessions", n)
	}
}
