package rtmp

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	sluice "github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/internal/flvclip"
	"github.com/sluice-go/sluice/mem"
)

// fuzzLimits are small, so that they are met.
var fuzzLimits = Limits{Message: 20_000, Data: 5000, Command: 3000, Unfinished: 30_000, ChunkStreams: 8, Requests: 8}

// FuzzChunks reads chunks in one piece and byte by byte: both give the same
// messages and the same error, within the limits, and what was read can be
// written and read again.
func FuzzChunks(f *testing.F) {
	f.Add(chunkHex(f, "03 0003e8 000004 08 39300000 01020304 83 000014 01020304 c3 01020304"))
	f.Add(chunkHex(f, "04 ffffff 000001 08 01000000 01020304 aa c4 01020304 bb"))
	f.Add(chunkHex(f, "02 000000 000004 01 00000000 00000001 04 000001 000003 09 01000000 aa c4 bb c4 cc"))
	f.Add(chunkHex(f, "02 000000 000004 01 00000000 7fffffff 04 000001 ffffff 09 01000000 aa"))
	f.Add(chunkHex(f, "04 000001 000100 09 01000000"+strings.Repeat("aa", 128)+"02 000000 000004 02 00000000 00000004 c4"))
	f.Add(hostileMessage(TypeVideo, flvclip.File[:1000]))
	f.Fuzz(func(t *testing.T, in []byte) {
		a := mem.New(mem.Options{Leak: mem.LeakTrace})
		read := func(r io.Reader) ([]chunkMessage, error) {
			b := &sluice.BufReader{Allocator: a}
			b.Reset(r)
			c := NewChunkReader(b, fuzzLimits)
			got, err := chunkReadAll(c)
			c.Recycle()
			b.Recycle()
			return got, err
		}
		got, err := read(bytes.NewReader(in))
		again, errAgain := read(&controlSteps{in, 1})
		if !reflect.DeepEqual(got, again) || err.Error() != errAgain.Error() {
			t.Fatalf("%d messages and %v, byte by byte %d and %v", len(got), err, len(again), errAgain)
		}
		if leaks := a.Leaks(); len(leaks) > 0 {
			t.Fatalf("%d references are left: %s", len(leaks), leaks[0].Stack)
		}
		known := false
		for _, want := range []error{io.EOF, io.ErrUnexpectedEOF, ErrProtocol, ErrTooLong, ErrTooMany} {
			known = known || errors.Is(err, want)
		}
		if !known {
			t.Fatal(err)
		}
		var out bytes.Buffer
		w := sluice.NewBufWriter(&out)
		cw := NewChunkWriter(w)
		for _, m := range got {
			if limit := fuzzLimits.of(m.typ); len(m.body) > limit {
				t.Fatalf("%v, at most %d", m, limit)
			}
			if err := cw.WriteMessage(m.message(a)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		written, err := read(&out)
		if err != io.EOF || !reflect.DeepEqual(got, written) {
			t.Fatalf("%d messages were written, %d read again, %v", len(got), len(written), err)
		}
	})
}

// FuzzMessages gives a server one message of any type after a connect: it ends
// in a request or an error, answers little, and what a command says can be said
// again.
func FuzzMessages(f *testing.F) {
	add := func(typ MessageType, name string, args ...amf0.Value) {
		p, err := AppendCommand(nil, name, 2, args...)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(byte(typ), p)
	}
	add(TypeCommandAMF0, "connect", chunkObject("app", "live"))
	add(TypeCommandAMF0, "publish", nil, "s?token=1.a&wait=5", "live")
	add(TypeCommandAMF0, "play", nil, "s", -2.0, -1.0, true)
	add(TypeCommandAMF0, "createStream", nil)
	add(TypeCommandAMF0, "FCPublish", nil, "s")
	add(TypeCommandAMF0, "onStatus", nil, chunkObject("level", "error", "code", "x"))
	add(TypeCommandAMF3, "\x00", nil)
	f.Add(byte(TypeAggregate), aggregatePart(aggregatePart(nil, TypeVideo, 5, []byte{1, 2}), TypeAudio, 6, []byte{3}))
	f.Add(byte(TypeUserControl), []byte{0, 6, 0, 0, 0, 1})
	f.Add(byte(TypeWindowAckSize), []byte{0, 0, 0, 0})
	f.Add(byte(TypeSetPeerBandwidth), []byte{0, 0, 0, 1, 2})
	f.Add(byte(TypeSharedObject), []byte{1})
	f.Fuzz(func(t *testing.T, typ byte, p []byte) {
		if len(p) > fuzzLimits.Command {
			return
		}
		if cmd, err := ParseCommand(Message{Type: TypeCommandAMF0, Payload: mem.Wrap(bytes.Clone(p), nil)}); err == nil {
			fuzzCommand(t, cmd)
		}
		connect, err := AppendCommand(nil, "connect", 1, chunkObject("app", "live", "tcUrl", "rtmp://h/live?a=b"))
		if err != nil {
			t.Fatal(err)
		}
		in := append(hostileMessage(TypeCommandAMF0, connect), fuzzChunked(MessageType(typ), p)...)
		a := mem.New(mem.Options{Leak: mem.LeakTrace})
		r := &sluice.BufReader{Allocator: a}
		r.Reset(bytes.NewReader(in))
		sent := 0
		w := hostileWriter(a, func(p []byte) (int, error) { sent += len(p); return len(p), nil })
		c := NewConn(r, w, Options{Limits: fuzzLimits})
		req, err := c.ReadRequest()
		if (req == nil) == (err == nil) {
			t.Fatalf("request %+v, error %v", req, err)
		}
		if req != nil {
			if strings.Contains(req.Stream, "?") || req.App != "live" || req.Query.Get("a") == "" && req.Query["a"] == nil {
				t.Fatalf("request %+v", req)
			}
			if err := c.Accept(req); err != nil {
				t.Fatal(err)
			}
		}
		if sent > 4096 {
			t.Fatalf("%d bytes were answered to %d", sent, len(in))
		}
		c.Recycle()
		r.Recycle()
		w.Recycle()
		if leaks := a.Leaks(); len(leaks) > 0 {
			t.Fatalf("%d references are left: %s", len(leaks), leaks[0].Stack)
		}
	})
}

// fuzzCommand writes a command and reads it again.
func fuzzCommand(t *testing.T, cmd Command) {
	p, err := AppendCommand(nil, cmd.Name, cmd.Transaction, cmd.Args...)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseCommand(Message{Type: TypeCommandAMF0, Payload: mem.Wrap(p, nil)})
	if err != nil {
		t.Fatal(err)
	}
	q, err := AppendCommand(nil, again.Name, again.Transaction, again.Args...)
	if err != nil {
		t.Fatal(err)
	}
	// Bytes are compared, since a number may be none.
	if !bytes.Equal(p, q) {
		t.Fatalf("% x was read and written as % x", p, q)
	}
}

// fuzzChunked is a message in chunks of the initial size on a stream of its own.
func fuzzChunked(typ MessageType, p []byte) []byte {
	out := AppendChunkHeader(nil, 5, typ, 1, 0, len(p))
	for i := 0; i < len(p); i += InitialChunkSize {
		if i > 0 {
			out = AppendContinuation(out, 5, 0)
		}
		out = append(out, p[i:min(i+InitialChunkSize, len(p))]...)
	}
	return out
}
