package relay

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/lab/internal/rawio"
	"github.com/sluice-go/sluice/rtmp"
)

// A floor is the least that a relay can do: one thread, one buffer, and for
// each viewer one send of what has come in a window, or of each frame where
// there is no window. It keeps no frames for viewers that join, does not make
// them wait for a key frame, and knows one stream.
type floor struct {
	Floor
	seal    func(batch []byte) // nil: it is not encrypted
	viewers []*floorPeer
	head    []byte // what stands before the media, for each viewer to get first
	batch   []byte // frames that wait for the end of the window
}

// Floor is which floor there is to be.
type Floor struct {
	Form   string        // in which viewers get the stream: RTMP or FLV
	Window time.Duration // how long frames are collected; 0: each is sent at once
	// Sealed has what is collected encrypted for each viewer, as a server by TLS must. It is
	// sent as it was: viewers have nothing to decrypt.
	Sealed bool
}

// Serve listens on a free port of the loopback interface for both the publisher, by RTMP,
// and the viewers; says the address on out; and goes on until in ends.
func (f Floor) Serve(in io.Reader, out io.Writer) error {
	if f.Form != RTMP && f.Form != FLV || f.Window < 0 {
		return fmt.Errorf("relay: a floor with viewers by %q and a window of %v", f.Form, f.Window)
	}
	floor := &floor{Floor: f}
	if f.Sealed {
		var err error
		if floor.seal, err = sealer(); err != nil {
			return err
		}
	}
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
	defer l.Close()
	return floor.serve(l, in, out)
}

func (f *floor) serve(l *net.TCPListener, in io.Reader, out io.Writer) error {
	server := rawio.Floor{
		Buffer: longRead, Every: f.Window,
		Open: func(c *rawio.Conn) func([]byte) []byte {
			peer := newFloorPeer(f, c)
			return func(p []byte) []byte {
				if err := peer.take(p); err != nil && !errors.Is(err, sluice.ErrShort) {
					c.End()
				}
				return nil
			}
		},
		Closed: func(c *rawio.Conn) {
			f.viewers = slices.DeleteFunc(f.viewers, func(v *floorPeer) bool { return v.conn == c })
		},
	}
	if f.Window > 0 {
		server.Tick = f.flush
	}
	ended := make(chan error, 2)
	go func() { ended <- server.Serve(l) }()
	if _, err := fmt.Fprintln(out, l.Addr()); err != nil {
		return err
	}
	go func() {
		_, err := io.Copy(io.Discard, in)
		ended <- err
	}()
	return <-ended
}

func (f *floor) flush() {
	for _, v := range f.viewers {
		if f.seal != nil {
			f.seal(f.batch)
		}
		v.conn.Write(f.batch)
	}
	f.batch = f.batch[:0]
}

// tlsRecord is what a record of TLS holds at most (RFC 8446, section 5.1).
const tlsRecord = 16384

// sealer returns a function that encrypts, in records and for nothing, as TLS 1.3 does
// where a processor has instructions for AES.
func sealer() (func([]byte), error) {
	block, err := aes.NewCipher(make([]byte, 16))
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	nonce, record := make([]byte, aead.NonceSize()), make([]byte, 0, tlsRecord+aead.Overhead())
	return func(batch []byte) {
		for part := range slices.Chunk(batch, tlsRecord) {
			record = aead.Seal(record[:0], nonce, part, nil)
		}
	}, nil
}

func (f *floor) publish(m *rtmp.Message) {
	kind, payload := flv.TagType(m.Type), m.Payload.Bytes()
	packet, _ := kindOf(kind, payload)
	if packet == setsUp || kind == flv.TagScript {
		f.head = f.frame(f.head, kind, 0, flv.StripSetDataFrame(payload))
		return
	}
	f.batch = f.frame(f.batch, kind, m.Time, payload)
	if f.Window == 0 {
		f.flush()
	}
}

func (f *floor) frame(dst []byte, kind flv.TagType, time uint32, payload []byte) []byte {
	if f.Form == FLV {
		return appendTag(dst, kind, time, payload)
	}
	chunks := map[flv.TagType]uint32{flv.TagVideo: rtmp.VideoChunkStream, flv.TagAudio: rtmp.AudioChunkStream, flv.TagScript: rtmp.DataChunkStream}[kind]
	dst = rtmp.AppendChunkHeader(dst, chunks, rtmp.MessageType(kind), 1, time, len(payload))
	for {
		n := min(len(payload), rtmp.DefaultChunkSize)
		dst = append(dst, payload[:n]...)
		if payload = payload[n:]; len(payload) == 0 {
			return dst
		}
		dst = rtmp.AppendContinuation(dst, chunks, time)
	}
}

type floorPeer struct {
	floor *floor
	conn  *rawio.Conn
	in    *sluice.BufReader
	rtmp  *rtmp.Conn
	next  func() error // takes what comes next; nil: a viewer, whose acknowledgements are of no interest
}

func newFloorPeer(f *floor, c *rawio.Conn) *floorPeer {
	v := &floorPeer{floor: f, conn: c, in: sluice.NewBufReaderFed()}
	v.rtmp = rtmp.NewConn(v.in, sluice.NewBufWriter(v), rtmp.Options{Limits: rtmp.Limits{Message: 16 << 20}})
	v.next = v.begin
	return v
}

// Write is for the answers of RTMP.
func (v *floorPeer) Write(p []byte) (int, error) {
	v.conn.Write(p)
	return len(p), nil
}

func (v *floorPeer) take(p []byte) error {
	if v.next == nil {
		return nil
	}
	err := v.in.FeedCopy(p)
	for err == nil && v.next != nil {
		err = v.next()
	}
	return err
}

func (v *floorPeer) begin() error {
	if first, err := v.in.Peek(1); err != nil {
		return err
	} else if v.floor.Form == FLV && first[0] == 'G' {
		v.next = v.request
		return nil
	}
	v.next = v.handshake // may be asked again, for packets that begin with any byte
	return nil
}

func (v *floorPeer) handshake() error {
	if err := v.rtmp.ServerHandshake(); err != nil {
		return err
	}
	v.next = v.command
	return nil
}

// request answers a GET once it is whole, whatever it asks for.
func (v *floorPeer) request() error {
	line, err := v.in.ReadSlice('\n')
	if err != nil || strings.TrimSpace(string(line)) != "" {
		return err
	}
	start := flv.Header{Audio: true, Video: true}.Append([]byte("HTTP/1.1 200 OK\r\nContent-Type: video/x-flv\r\nConnection: close\r\n\r\n"))
	v.conn.Write(append(start, 0, 0, 0, 0))
	v.admit()
	return nil
}

func (v *floorPeer) command() error {
	req, err := v.rtmp.ReadRequest()
	if err == nil {
		err = v.rtmp.Accept(req)
	}
	if err != nil {
		return err
	}
	if req.Kind == rtmp.Play {
		v.admit()
		return nil
	}
	v.next = func() error {
		m, err := v.rtmp.ReadMessage()
		if err != nil {
			return err
		}
		if flv.TagType(m.Type) == flv.TagVideo || flv.TagType(m.Type) == flv.TagAudio || flv.TagType(m.Type) == flv.TagScript {
			v.floor.publish(&m)
		}
		m.Release()
		return nil
	}
	return nil
}

// admit makes a connection a viewer. Frames that wait for the end of a window go
// only to viewers that were there before.
func (v *floorPeer) admit() {
	v.conn.Write(v.floor.head)
	v.floor.flush()
	v.next = nil
	v.in.Recycle()
	v.floor.viewers = append(v.floor.viewers, v)
}
