//go:build linux

package realtest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pion/sdp/v3"
)

// An rtspSession is as much of RTSP 1.0 (RFC 2326) as a player and a publisher need.
type rtspSession struct {
	conn    net.Conn
	r       *bufio.Reader
	url     string
	number  int
	session string
	frame   func(channel int, p []byte) // takes interleaved frames
	udp     [][2]*net.UDPConn           // of each track
	peers   [][2]*net.UDPAddr
}

// do sends a request and returns the answer's header and body.
func (x *rtspSession) do(method, url, body string, fields ...string) (textproto.MIMEHeader, []byte, error) {
	x.number++
	text := fmt.Sprintf("%s %s RTSP/1.0\r\nCSeq: %d\r\n", method, url, x.number)
	if x.session != "" {
		fields = append(fields, "Session: "+x.session)
	}
	if body != "" {
		fields = append(fields, "Content-Type: application/sdp", fmt.Sprintf("Content-Length: %d", len(body)))
	}
	for _, f := range fields {
		text += f + "\r\n"
	}
	if _, err := io.WriteString(x.conn, text+"\r\n"+body); err != nil {
		return nil, nil, err
	}
	for {
		if _, err := x.interleaved(); err != nil {
			return nil, nil, err
		}
		if p, err := x.r.Peek(1); err != nil {
			return nil, nil, err
		} else if p[0] == '$' {
			continue
		}
		break
	}
	r := textproto.NewReader(x.r)
	line, err := r.ReadLine()
	if err != nil {
		return nil, nil, err
	}
	h, err := r.ReadMIMEHeader()
	if err != nil {
		return nil, nil, err
	}
	n, _ := strconv.Atoi(h.Get("Content-Length"))
	answer := make([]byte, n)
	if _, err := io.ReadFull(x.r, answer); err != nil {
		return nil, nil, err
	}
	if !strings.HasPrefix(line, "RTSP/1.0 200 ") || h.Get("Cseq") != strconv.Itoa(x.number) {
		return nil, nil, fmt.Errorf("%s %s: %s", method, url, line)
	}
	if s, _, _ := strings.Cut(h.Get("Session"), ";"); s != "" {
		x.session = s
	}
	return h, answer, nil
}

// interleaved reads an interleaved frame, if one is next.
func (x *rtspSession) interleaved() (bool, error) {
	p, err := x.r.Peek(4)
	if err != nil || p[0] != '$' {
		return false, err
	}
	channel, n := int(p[1]), int(binary.BigEndian.Uint16(p[2:]))
	frame := make([]byte, 4+n)
	if _, err := io.ReadFull(x.r, frame); err != nil {
		return false, err
	}
	if x.frame != nil {
		x.frame(channel, frame[4:])
	}
	return true, nil
}

// openRTSP connects.
func openRTSP(t testing.TB, address, url string) *rtspSession {
	return openRTSPOn(dial(t, address, false), url)
}

// openRTSPOn is openRTSP on a connection.
func openRTSPOn(conn net.Conn, url string) *rtspSession {
	return &rtspSession{conn: conn, r: bufio.NewReaderSize(conn, 64<<10), url: url}
}

// ports opens a pair of sockets for a track.
func (x *rtspSession) ports(t testing.TB) (low int, err error) {
	for range 100 {
		a, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			return 0, err
		}
		low := a.LocalAddr().(*net.UDPAddr).Port
		b, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: low + 1})
		if low%2 != 0 || err != nil {
			a.Close()
			if err == nil {
				b.Close()
			}
			continue
		}
		a.SetReadBuffer(4 << 20)
		t.Cleanup(func() { a.Close(); b.Close() })
		x.udp = append(x.udp, [2]*net.UDPConn{a, b})
		return low, nil
	}
	return 0, errors.New("no pair of ports")
}

// setup sets up a track.
func (x *rtspSession) setup(t testing.TB, url string, track int, udp bool, mode string) error {
	transport := fmt.Sprintf("RTP/AVP/TCP;unicast;interleaved=%d-%d", 2*track, 2*track+1)
	if udp {
		low, err := x.ports(t)
		if err != nil {
			return err
		}
		transport = fmt.Sprintf("RTP/AVP;unicast;client_port=%d-%d", low, low+1)
	}
	h, _, err := x.do("SETUP", url, "", "Transport: "+transport+mode)
	if err != nil || !udp {
		return err
	}
	_, rest, ok := strings.Cut(h.Get("Transport"), "server_port=")
	rest, _, _ = strings.Cut(rest, ";")
	low, high, _ := strings.Cut(rest, "-")
	a, err1 := strconv.Atoi(low)
	b, err2 := strconv.Atoi(high)
	if !ok || err1 != nil || err2 != nil {
		return fmt.Errorf("transport %q", h.Get("Transport"))
	}
	ip := net.IPv4(127, 0, 0, 1)
	x.peers = append(x.peers, [2]*net.UDPAddr{{IP: ip, Port: a}, {IP: ip, Port: b}})
	return nil
}

// playRTSP plays a source to its end.
func playRTSP(t testing.TB, x *rtspSession, udp bool, s *mediaSource) (video, audio []played, err error) {
	h, text, err := x.do("DESCRIBE", x.url, "")
	if err != nil {
		return nil, nil, err
	}
	var d sdp.SessionDescription
	if err := d.Unmarshal(text); err != nil {
		return nil, nil, err
	}
	tracks := make([]*rtpReceived, 2*len(d.MediaDescriptions))
	lists := map[bool]*rtpReceived{true: {}, false: {}}
	for i, m := range d.MediaDescriptions {
		want := s.audio
		if m.MediaName.Media == "video" {
			want = s.video
		}
		r := &rtpReceived{codec: want.codec, clock: want.rtpClock()}
		name := rtpNames[want.codec]
		name, _, _ = strings.Cut(name, "/")
		rtpmap, _ := m.Attribute("rtpmap")
		if !strings.Contains(rtpmap, " "+name+"/"+strconv.Itoa(r.clock)) {
			return nil, nil, fmt.Errorf("%s is described as %q", want.codec, rtpmap)
		}
		lists[m.MediaName.Media == "video"], tracks[2*i] = r, r
		control, _ := m.Attribute("control")
		if err := x.setup(t, h.Get("Content-Base")+control, i, udp, ""); err != nil {
			return nil, nil, err
		}
	}
	x.frame = func(channel int, p []byte) {
		if channel < len(tracks) && channel%2 == 0 {
			tracks[channel].rtp(p)
		} else if channel < len(tracks) {
			tracks[channel-1].rtcp(p)
		}
	}
	done := make(chan struct{}, 2*len(x.udp))
	for i, pair := range x.udp {
		for k, c := range pair {
			go func() {
				defer func() { done <- struct{}{} }()
				buf := make([]byte, 2048)
				for {
					n, _, err := c.ReadFromUDP(buf)
					if err != nil {
						return
					}
					x.frame(2*i+k, buf[:n])
				}
			}()
		}
	}
	if _, _, err := x.do("PLAY", x.url, ""); err != nil {
		return nil, nil, err
	}
	for {
		if ok, err := x.interleaved(); err == io.EOF {
			break
		} else if err != nil || !ok {
			return nil, nil, fmt.Errorf("after PLAY: %w", errors.Join(err, errors.New("the connection has something else")))
		}
	}
	for _, pair := range x.udp {
		for _, c := range pair {
			c.SetReadDeadline(time.Now().Add(time.Second)) // what is in the sockets is read
		}
	}
	for range 2 * len(x.udp) {
		<-done
	}
	if video, err = lists[true].played(); err != nil {
		return nil, nil, fmt.Errorf("pictures: %w", err)
	}
	if audio, err = lists[false].played(); err != nil {
		return nil, nil, fmt.Errorf("sound: %w", err)
	}
	return video, audio, nil
}

// An rtspPublisher publishes the tracks of a source.
type rtspPublisher struct {
	*rtspSession
	senders map[bool]*rtpSender
	tracks  map[bool]int
}

func publishRTSP(t testing.TB, x *rtspSession, udp bool, s *mediaSource) (*rtspPublisher, error) {
	p := &rtspPublisher{x, map[bool]*rtpSender{}, map[bool]int{}}
	text := "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=realtest\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
	n := 0
	for _, video := range []bool{true, false} {
		m := s.audio
		if video {
			m = s.video
		}
		if m != nil {
			p.senders[video], p.tracks[video] = newRTPSender(m, video, uint32(1000+n)), n
			text += m.describe(video, fmt.Sprintf("streamid=%d", n))
			n++
		}
	}
	if _, _, err := x.do("ANNOUNCE", x.url, text); err != nil {
		return nil, err
	}
	for i := range n {
		if err := x.setup(t, fmt.Sprintf("%s/streamid=%d", x.url, i), i, udp, ";mode=record"); err != nil {
			return nil, err
		}
	}
	_, _, err := x.do("RECORD", x.url, "")
	if err != nil {
		return nil, err
	}
	for video, sender := range p.senders {
		report, err := sender.report(0).Marshal()
		if err != nil {
			return nil, err
		}
		if err := p.write(video, 1, report); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// write sends a packet of RTP, or with 1 of RTCP.
func (p *rtspPublisher) write(video bool, control int, packet []byte) error {
	track := p.tracks[video]
	if len(p.udp) > 0 {
		_, err := p.udp[track][control].WriteToUDP(packet, p.peers[track][control])
		return err
	}
	frame := append([]byte{'$', byte(2*track + control), byte(len(packet) >> 8), byte(len(packet))}, packet...)
	_, err := p.conn.Write(frame)
	return err
}

func (p *rtspPublisher) send(video bool, u *mediaUnit) error {
	for _, packet := range p.senders[video].packets(u) {
		raw, err := packet.Marshal()
		if err == nil {
			err = p.write(video, 0, raw)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *rtspPublisher) end() error {
	_, _, err := p.do("TEARDOWN", p.url, "")
	p.conn.Close()
	return err
}
