package relay

import (
	"encoding/binary"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// srtRaw is a caller that keeps to the protocol as far as a test wants.
type srtRaw struct {
	t    *testing.T
	conn *net.UDPConn
	id   uint32 // of the server's side
	ask  []byte // the packet that the server answered with it
}

// srtNumbers are the callers' own numbers of their connections.
var srtNumbers atomic.Uint32

// srtCall makes a connection with a stream id.
func srtCall(t *testing.T, address, id string) *srtRaw {
	t.Helper()
	to, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.DialUDP("udp", nil, to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	id += strings.Repeat("\x00", (4-len(id)%4)%4)
	answer := make([]byte, 1500)
	for range 20 {
		number := srtNumbers.Add(1)
		c.Write(srtHandshake(1, 0, func(p []byte) {
			binary.BigEndian.PutUint32(p[16:], 4)
			binary.BigEndian.PutUint16(p[22:], 2)
			binary.BigEndian.PutUint32(p[16+24:], number)
		}))
		c.SetReadDeadline(time.Now().Add(srtAnswer))
		if n, err := c.Read(answer); err != nil || n < 64 {
			continue
		}
		p := srtHandshake(0xffffffff, binary.BigEndian.Uint32(answer[16+28:]), func(p []byte) {
			p[16+7] |= 4
			binary.BigEndian.PutUint32(p[16+24:], number)
		})
		p = append(p, 0, 5, 0, byte(len(id)/4))
		for i := 0; i < len(id); i += 4 { // the words are in little endian order (section 3.2.1.3)
			p = append(p, id[i+3], id[i+2], id[i+1], id[i])
		}
		c.Write(p)
		c.SetReadDeadline(time.Now().Add(srtAnswer))
		n, err := c.Read(answer)
		if err != nil || n < 64 || binary.BigEndian.Uint32(answer[16+20:]) != 0xffffffff {
			continue
		}
		return &srtRaw{t, c, binary.BigEndian.Uint32(answer[16+24:]), p}
	}
	t.Fatalf("%s: no connection", id)
	return nil
}

// A caller asks again each 250 ms until it has an answer, of a server that is far away after it was
// answered: that is no other session, whose end for silence would be the end of its connection.
func TestSRTCallsThatAreRepeated(t *testing.T) {
	s, address := startSRT(t, nil)
	s.srtPublish(t, srtConnect(t, address, "publish:live/s", nil), "live/s", 30)
	v := srtCall(t, address, "live/s")
	for range 3 {
		v.conn.Write(v.ask)
	}
	srtCall(t, address, "live/s") // is answered behind them
	relayEventually(t, "both watch", func() bool { return len(s.viewers()) >= 2 })
	if list := s.viewers(); len(list) != 2 {
		t.Errorf("%d sessions of two callers", len(list))
	}
}

// control sends a control packet.
func (c *srtRaw) control(kind byte, body []byte) {
	p := make([]byte, 16, 16+len(body))
	p[0], p[1] = 0x80, kind
	binary.BigEndian.PutUint32(p[12:], c.id)
	c.conn.Write(append(p, body...))
}

// data sends a packet of media with a time in microseconds.
func (c *srtRaw) data(number, at uint32, body []byte) {
	p := make([]byte, 16, 16+len(body))
	binary.BigEndian.PutUint32(p, number)
	p[4], p[7] = 0xc0, 1
	binary.BigEndian.PutUint32(p[8:], at)
	binary.BigEndian.PutUint32(p[12:], c.id)
	c.conn.Write(append(p, body...))
}

// until does something again and again until the log has a line with all these words.
func (s *relayServer) until(t *testing.T, do func(), words ...string) {
	t.Helper()
	relayEventually(t, strings.Join(words, " "), func() bool {
		do()
		for line := range strings.Lines(s.log.String()) {
			found := true
			for _, w := range words {
				found = found && strings.Contains(line, w)
			}
			if found {
				return true
			}
		}
		return false
	})
}

// The library keeps what comes until its time, which may be an hour: of a viewer, who has
// nothing to send, and of a publisher also when there is nothing in the packets.
func TestSRTPacketsOfTheFutureAreNotKept(t *testing.T) {
	s, address := startSRT(t, func(c *relayConfig) { c.times.Step = 50 * time.Millisecond })
	const hour = 3600 * 1e6
	feed := s.srtPublish(t, srtConnect(t, address, "publish:live/s", nil), "live/s", 30)
	number := uint32(1)
	send := func(c *srtRaw, body []byte) func() {
		return func() {
			feed.more()
			for range 100 {
				c.data(number, hour, body)
				number++
			}
		}
	}
	s.until(t, send(srtCall(t, address, "live/s"), make([]byte, 1300)), "viewer ended", "a viewer sends what is not asked for")
	number = 1
	s.until(t, send(srtCall(t, address, "publish:live/empty"), nil), "publisher ended", "live/empty", "buffer is too full")
}

// A report of lost packets that names them hundreds of times has them sent once at most,
// and ends the viewer.
func TestSRTReportsThatNamePacketsAgain(t *testing.T) {
	s, address := startSRT(t, nil)
	p := srtConnect(t, address, "publish:live/s", nil)
	feed := s.srtPublish(t, p, "live/s", 30)
	v := srtCall(t, address, "live/s")
	v.conn.SetReadDeadline(time.Now().Add(relayWait))
	first, answer := uint32(0), make([]byte, 2000)
	for first == 0 {
		feed.more()
		n, err := v.conn.Read(answer)
		if err != nil {
			t.Fatal(err)
		}
		if n > 188 && answer[0]&0x80 == 0 {
			first = binary.BigEndian.Uint32(answer)
		}
	}
	var report []byte
	for range 360 {
		report = binary.BigEndian.AppendUint32(report, first)
	}
	v.control(3, report)
	s.until(t, feed.more, "viewer ended", "too many packets are asked for again")
	again := 0
	for {
		v.conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		n, err := v.conn.Read(answer)
		if err != nil {
			break
		}
		if n > 188 && answer[0]&0x80 == 0 && answer[4]&4 != 0 {
			again++
		}
	}
	if again > 1 {
		t.Errorf("a packet was sent again %d times", again)
	}
}
