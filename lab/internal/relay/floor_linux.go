package relay

import (
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/sluice-go/sluice/lab/internal/rawio"
)

// A floor is the least that a relay can do: one thread, one buffer, and for
// each viewer one send of what has come in a window, or of each frame where
// there is no window. It keeps no frames for viewers that join, does not make
// them wait for a key frame, and knows one stream.
type floor struct {
	form    string
	window  time.Duration
	viewers []*floorPeer
	head    [][]byte // what stands before the media, for each viewer to get first
	batch   []byte   // frames that wait for the end of the window
	wire    []byte   // the frame under way
	kind    uint8
	time    uint32
	payload []byte
	isHead  bool
}

// ServeFloor listens on a free port of the loopback interface for both the
// publisher, by RTMP, and the viewers, by form; says the address on out; and
// goes on until in ends.
func ServeFloor(form string, window time.Duration, in io.Reader, out io.Writer) error {
	if form != RTMP && form != FLV || window < 0 {
		return fmt.Errorf("relay: a floor with viewers by %q and a window of %v", form, window)
	}
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
	defer l.Close()
	f := &floor{form: form, window: window}
	server := rawio.Floor{
		Buffer: longRead, Every: window,
		Open: func(c *rawio.Conn) func([]byte) []byte {
			peer := &floorPeer{Conn: c}
			return func(p []byte) []byte {
				if peer.take(f, p) != nil {
					c.End()
				}
				return nil
			}
		},
		Closed: func(c *rawio.Conn) {
			f.viewers = slices.DeleteFunc(f.viewers, func(v *floorPeer) bool { return v.Conn == c })
		},
	}
	if window > 0 {
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

// flush sends the batch to all.
func (f *floor) flush() {
	for _, v := range f.viewers {
		v.Write(f.batch)
	}
	f.batch = f.batch[:0]
}

// A floor is the sink of what its publisher sends.

func (f *floor) started(kind uint8, t uint32, _ int, first, second byte) error {
	f.kind, f.time, f.payload, f.isHead = kind, t, f.payload[:0], sets(kind, first, second)
	return nil
}

func (f *floor) passed(p []byte) error {
	f.payload = append(f.payload, p...)
	return nil
}

func (f *floor) ended() error {
	f.wire = f.wire[:0]
	if f.isHead {
		f.setHead(f.kind, f.payload)
		return nil
	}
	if f.window > 0 {
		f.batch = f.frame(f.batch, f.kind, f.time, f.payload)
		return nil
	}
	f.wire = f.frame(f.wire, f.kind, f.time, f.payload)
	for _, v := range f.viewers {
		v.Write(f.wire)
	}
	return nil
}

func (f *floor) noted(kind uint8, payload []byte) error {
	if kind == kindScript {
		if name := commandName(payload); name == "@setDataFrame" {
			payload = payload[3+len(name):]
		}
		f.setHead(kind, payload)
	}
	return nil
}

func (f *floor) setHead(kind uint8, payload []byte) {
	f.head = append(f.head, f.frame(nil, kind, 0, payload))
}

// frame appends a frame as viewers get it.
func (f *floor) frame(dst []byte, kind uint8, time uint32, payload []byte) []byte {
	if f.form == FLV {
		return appendTag(dst, kind, time, payload)
	}
	return appendMessage(dst, kind, streamID, time, payload, outChunk)
}
