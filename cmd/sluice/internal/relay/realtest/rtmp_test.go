//go:build linux

package realtest

import (
	"bufio"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"time"
)

// An rtmpClient is as much of RTMP 1.0 as a player and a publisher need.
type rtmpClient struct {
	conn     net.Conn
	r        *bufio.Reader
	streams  map[uint32]*chunkStream
	chunkIn  int
	chunkOut int
}

type chunkStream struct {
	kind     byte
	time     uint32
	delta    uint32
	extended bool
	length   int
	body     []byte
}

type rtmpMessage struct {
	Type byte
	Time uint32
	Body []byte
}

// refused is what an RTMP server says in a status of level error.
type refused struct{ code, text string }

func (r *refused) Error() string { return r.code + ": " + r.text }

// connectRTMP shakes hands and connects to an application.
func connectRTMP(conn net.Conn, app string) (*rtmpClient, error) {
	c := &rtmpClient{conn: conn, r: bufio.NewReaderSize(conn, 64<<10), streams: map[uint32]*chunkStream{}, chunkIn: 128, chunkOut: 128}
	if err := c.handshake(); err != nil {
		return nil, err
	}
	connect := amfString(nil, "connect")
	connect = amfNumber(connect, 1)
	connect = append(connect, 3)
	connect = amfString(amfName(connect, "app"), app)
	connect = amfString(amfName(connect, "flashVer"), "LNX 9,0,124,2")
	connect = amfString(amfName(connect, "tcUrl"), "rtmp://localhost/"+app)
	connect = append(connect, 0, 0, 9)
	if err := c.write(3, 20, 0, 0, connect); err != nil {
		return nil, err
	}
	if err := c.await("_result"); err != nil {
		return nil, err
	}
	create := amfNumber(amfString(nil, "createStream"), 2)
	if err := c.write(3, 20, 0, 0, append(create, 5)); err != nil {
		return nil, err
	}
	return c, c.await("_result")
}

func (c *rtmpClient) handshake() error {
	var hello [1 + 1536]byte
	hello[0] = 3
	rand.Read(hello[9:])
	if _, err := c.conn.Write(hello[:]); err != nil {
		return err
	}
	var answer [1 + 2*1536]byte
	if _, err := io.ReadFull(c.r, answer[:]); err != nil {
		return err
	}
	if answer[0] != 3 {
		return fmt.Errorf("the server's version is %d", answer[0])
	}
	_, err := c.conn.Write(answer[1 : 1+1536])
	return err
}

// playRTMP asks for a stream and reads it from then on.
func playRTMP(conn net.Conn, app, name string) (*rtmpClient, error) {
	c, err := connectRTMP(conn, app)
	if err != nil {
		return nil, err
	}
	play := amfNumber(amfString(nil, "play"), 3)
	play = amfString(append(play, 5), name)
	if err := c.write(8, 20, 1, 0, amfNumber(play, -2000)); err != nil {
		return nil, err
	}
	return c, c.await("NetStream.Play.Start")
}

// publishRTMP begins to publish a stream.
func publishRTMP(conn net.Conn, app, name string) (*rtmpClient, error) {
	c, err := connectRTMP(conn, app)
	if err != nil {
		return nil, err
	}
	publish := amfNumber(amfString(nil, "publish"), 3)
	publish = amfString(append(publish, 5), name)
	if err := c.write(8, 20, 1, 0, amfString(publish, "live")); err != nil {
		return nil, err
	}
	if err := c.await("NetStream.Publish.Start"); err != nil {
		return nil, err
	}
	c.chunkOut = 60000
	return c, c.write(2, 1, 0, 0, binary.BigEndian.AppendUint32(nil, 60000))
}

// send publishes a tag.
func (c *rtmpClient) send(g tag) error {
	body := g.Data
	if g.Type == tagScript {
		body = append(amfString(nil, "@setDataFrame"), body...)
	}
	return c.write(4, g.Type, 1, g.Time, body)
}

// await reads until a command contains the word, which is its name or a code.
func (c *rtmpClient) await(word string) error {
	for range 100 {
		m, err := c.message()
		if err != nil {
			return fmt.Errorf("before %s: %w", word, err)
		}
		if m.Type != 20 {
			continue
		}
		body := string(m.Body)
		if strings.Contains(body, word) {
			return nil
		}
		if strings.Contains(body, "_error") || strings.Contains(body, "level\x02\x00\x05error") {
			return &refused{amfValue(body, "code"), amfValue(body, "description")}
		}
	}
	return fmt.Errorf("a hundred messages and no %s", word)
}

// next returns the next audio, video or data message as a tag. io.EOF is the
// end of the connection between messages, or the server's word that the stream
// is over.
func (c *rtmpClient) next() (tag, error) {
	for {
		m, err := c.message()
		if err != nil {
			return tag{}, err
		}
		switch {
		case m.Type == tagAudio || m.Type == tagVideo || m.Type == tagScript:
			if m.Type == tagScript && strings.HasPrefix(string(m.Body), "\x02\x00\x11|RtmpSampleAccess") {
				continue
			}
			return tag{m.Type, m.Time, m.Body}, nil
		case m.Type == 20 && strings.Contains(string(m.Body), "NetStream.Play.UnpublishNotify"):
			return tag{}, io.EOF
		}
	}
}

// message returns the next message, having done what those of control ask.
func (c *rtmpClient) message() (rtmpMessage, error) {
	for {
		m, err := c.chunk()
		if err != nil {
			return rtmpMessage{}, err
		}
		if m == nil {
			continue
		}
		switch {
		case m.Type == 1 && len(m.Body) == 4:
			c.chunkIn = int(binary.BigEndian.Uint32(m.Body))
			if c.chunkIn < 1 {
				return rtmpMessage{}, fmt.Errorf("a chunk size of %d", c.chunkIn)
			}
		case m.Type == 4 && len(m.Body) == 6 && m.Body[1] == 6: // ping
			pong := append([]byte{0, 7}, m.Body[2:]...)
			if err := c.write(2, 4, 0, 0, pong); err != nil {
				return rtmpMessage{}, err
			}
		}
		return *m, nil
	}
}

// chunk reads one chunk and returns the message that it completes, or nil.
func (c *rtmpClient) chunk() (*rtmpMessage, error) {
	first, err := c.r.ReadByte()
	if err != nil {
		return nil, err
	}
	format, id := first>>6, uint32(first&0x3f)
	var h [11]byte
	switch id {
	case 0:
		if _, err := io.ReadFull(c.r, h[:1]); err != nil {
			return nil, noEOF(err)
		}
		id = 64 + uint32(h[0])
	case 1:
		if _, err := io.ReadFull(c.r, h[:2]); err != nil {
			return nil, noEOF(err)
		}
		id = 64 + uint32(h[0]) + uint32(h[1])<<8
	}
	s := c.streams[id]
	if s == nil {
		if format == 3 {
			return nil, fmt.Errorf("chunk stream %d begins with format 3", id)
		}
		s = new(chunkStream)
		c.streams[id] = s
	}
	if _, err := io.ReadFull(c.r, h[:[]int{11, 7, 3, 0}[format]]); err != nil {
		return nil, noEOF(err)
	}
	if format < 3 && len(s.body) > 0 {
		return nil, fmt.Errorf("format %d amid a message on chunk stream %d", format, id)
	}
	stamp := uint32(h[0])<<16 | uint32(h[1])<<8 | uint32(h[2])
	if format < 3 {
		s.extended = stamp == 0xffffff
	}
	if s.extended {
		var x [4]byte
		if _, err := io.ReadFull(c.r, x[:]); err != nil {
			return nil, noEOF(err)
		}
		if format < 3 {
			stamp = binary.BigEndian.Uint32(x[:])
		}
	}
	if format < 2 {
		s.length, s.kind = int(h[3])<<16|int(h[4])<<8|int(h[5]), h[6]
	}
	switch {
	case format == 0:
		s.time, s.delta = stamp, 0
	case format < 3:
		s.delta = stamp
		s.time += stamp
	case len(s.body) == 0:
		s.time += s.delta
	}
	n := min(c.chunkIn, s.length-len(s.body))
	at := len(s.body)
	s.body = append(s.body, make([]byte, n)...)
	if _, err := io.ReadFull(c.r, s.body[at:]); err != nil {
		return nil, noEOF(err)
	}
	if len(s.body) < s.length {
		return nil, nil
	}
	m := &rtmpMessage{s.kind, s.time, s.body}
	s.body = nil
	return m, nil
}

// write writes a message in chunks, the first of format 0.
func (c *rtmpClient) write(id, kind byte, stream, time uint32, body []byte) error {
	short := min(time, 0xffffff)
	p := []byte{id, byte(short >> 16), byte(short >> 8), byte(short), byte(len(body) >> 16), byte(len(body) >> 8), byte(len(body)), kind}
	p = binary.LittleEndian.AppendUint32(p, stream)
	for first := true; first || len(body) > 0; first = false {
		if !first {
			p = append(p, 0xc0|id)
		}
		if short == 0xffffff {
			p = binary.BigEndian.AppendUint32(p, time)
		}
		n := min(c.chunkOut, len(body))
		p = append(p, body[:n]...)
		body = body[n:]
	}
	_, err := c.conn.Write(p)
	return err
}

func amfName(p []byte, s string) []byte {
	p = binary.BigEndian.AppendUint16(p, uint16(len(s)))
	return append(p, s...)
}

func amfString(p []byte, s string) []byte { return amfName(append(p, 2), s) }

func amfNumber(p []byte, f float64) []byte {
	return binary.BigEndian.AppendUint64(append(p, 0), math.Float64bits(f))
}

// amfValue finds a property that is a string.
func amfValue(body, name string) string {
	_, rest, found := strings.Cut(body, name+"\x02")
	if !found || len(rest) < 2 {
		return ""
	}
	n := int(rest[0])<<8 | int(rest[1])
	return rest[2:min(len(rest), 2+n)]
}

// isTimeout tells a deadline from every other end.
func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// until sets how long a connection may still live.
func until(conn net.Conn, d time.Duration) { conn.SetDeadline(time.Now().Add(d)) }
