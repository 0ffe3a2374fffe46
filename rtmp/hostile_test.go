package rtmp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/internal/invariant"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// hostileRead reads in to its end, by a few bytes a read and then as many as
// fit, and returns the most memory that was out, in bytes, beside how it ended.
func hostileRead(t *testing.T, in []byte, l Limits, confined bool) (int64, error) {
	t.Helper()
	most, err := hostileReadBy(t, in, 16, l, confined)
	burst, burstErr := hostileReadBy(t, in, len(in), l, confined)
	if err.Error() != burstErr.Error() {
		t.Errorf("bytes that trickle in end with %v, bytes that come at once with %v", err, burstErr)
	}
	return max(most, burst), err
}

func hostileReadBy(t *testing.T, in []byte, step int, l Limits, confined bool) (int64, error) {
	t.Helper()
	b, a := chunkSource(&controlSteps{in, step}, mem.Options{})
	sluicetest.NoLeaks(t, a)
	c := NewChunkReader(b, l)
	c.confined = confined
	var most int64
	for {
		var m Message
		done, err := c.readChunk(&m)
		most = max(most, a.Stats().OutBytes)
		if done {
			m.Release()
		}
		if err != nil {
			c.Recycle()
			b.Recycle()
			return most, err
		}
	}
}

// A block of the reader, and what each chunk stream's first bytes are given.
const hostileBlock = 64 << 10

func TestLongHeadersOnManyChunkStreamsTakeNothing(t *testing.T) {
	for _, l := range []Limits{{}, {Message: MaxMessageLength}, {Message: MaxMessageLength, ChunkStreams: 2000}} {
		for _, size := range []int{1, InitialChunkSize} {
			var in []byte
			if size != InitialChunkSize {
				in = AppendChunkHeader(in, 2, TypeSetChunkSize, 0, 0, 4)
				in = binary.BigEndian.AppendUint32(in, uint32(size))
			}
			body := make([]byte, size)
			for i := range uint32(1000) {
				in = AppendChunkHeader(in, 3+i, TypeVideo, 1, 0, MaxMessageLength)
				in = append(in, body...)
			}
			most, err := hostileRead(t, in, l, false)
			want := error(ErrTooLong)
			switch {
			case l.ChunkStreams > 0:
				want = io.ErrUnexpectedEOF
			case l.Message > 0:
				want = ErrTooMany
			}
			if !errors.Is(err, want) {
				t.Errorf("%+v: %v, want %v", l, err, want)
			}
			streams := min(1000, l.orDefault().ChunkStreams)
			if limit := int64(hostileBlock + 2*len(in) + streams*firstGather); most > limit {
				t.Errorf("%+v, chunks of %d: %d bytes were held for %d received, at most %d", l, size, most, len(in), limit)
			}
		}
	}
}

func TestLongMessagesInSmallChunksFollowWhatArrives(t *testing.T) {
	for _, size := range []int{1, 3, InitialChunkSize, 4096} {
		in := AppendChunkHeader(nil, 2, TypeSetChunkSize, 0, 0, 4)
		in = binary.BigEndian.AppendUint32(in, uint32(size))
		in = AppendChunkHeader(in, 6, TypeVideo, 1, 0, 4<<20)
		for i := range int(rounds(200_000)) / size {
			if i > 0 {
				in = AppendContinuation(in, 6, 0)
			}
			in = append(in, make([]byte, size)...)
		}
		most, err := hostileRead(t, in, Limits{}, false)
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("chunks of %d: %v", size, err)
		}
		// Both the old and the new memory are out while it grows.
		if limit := int64(hostileBlock + 3*len(in)); most > limit {
			t.Errorf("chunks of %d: %d bytes were held for %d received, at most %d", size, most, len(in), limit)
		}
	}
}

func TestOneLongChunkFollowsWhatArrives(t *testing.T) {
	in := AppendChunkHeader(nil, 2, TypeSetChunkSize, 0, 0, 4)
	in = binary.BigEndian.AppendUint32(in, MaxChunkSize)
	in = AppendChunkHeader(in, 6, TypeVideo, 1, 0, MaxMessageLength)
	in = append(in, make([]byte, 10_000)...)
	most, err := hostileRead(t, in, Limits{Message: MaxMessageLength}, false)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	if limit := int64(hostileBlock + 3*len(in)); most > limit {
		t.Errorf("%d bytes were held for %d received, at most %d", most, len(in), limit)
	}
}

func TestUnfinishedMessagesAreBoundedTogether(t *testing.T) {
	const message = 100_000
	var in []byte
	body := make([]byte, InitialChunkSize)
	for i := range message / len(body) {
		for id := range uint32(20) {
			if i == 0 {
				in = AppendChunkHeader(in, 3+id, TypeVideo, 1, 0, message)
			} else {
				in = AppendContinuation(in, 3+id, 0)
			}
			in = append(in, body...)
		}
	}
	l := Limits{Message: message, Unfinished: 300_000}
	most, err := hostileRead(t, in, l, false)
	if !errors.Is(err, ErrTooLong) {
		t.Errorf("%v, want %v", err, ErrTooLong)
	}
	if limit := int64(hostileBlock + 3*l.Unfinished); most > limit {
		t.Errorf("%d bytes were held, at most %d", most, limit)
	}
	l.Unfinished = 99_999
	one := AppendChunkHeader(nil, 2, TypeSetChunkSize, 0, 0, 4)
	one = binary.BigEndian.AppendUint32(one, MaxChunkSize)
	one = append(AppendChunkHeader(one, 6, TypeVideo, 1, 0, message), 1)
	if _, err := hostileRead(t, one, l, false); !errors.Is(err, ErrTooLong) {
		t.Errorf("one chunk of %d with a limit of %d: %v", message, l.Unfinished, err)
	}
}

func TestNothingLongBeforeARequest(t *testing.T) {
	for _, typ := range []MessageType{TypeVideo, TypeAudio, TypeDataAMF0, TypeAggregate} {
		in := AppendChunkHeader(nil, 6, typ, 1, 0, defaultCommand+1)
		if _, err := hostileRead(t, in, Limits{}, true); !errors.Is(err, ErrTooLong) {
			t.Errorf("%v: %v", typ, err)
		}
	}
}

func TestBudgetEndsAConnection(t *testing.T) {
	in := AppendChunkHeader(nil, 6, TypeVideo, 1, 0, 1<<20)
	for i := range 1 << 20 / InitialChunkSize {
		if i > 0 {
			in = AppendContinuation(in, 6, 0)
		}
		in = append(in, make([]byte, InitialChunkSize)...)
	}
	b, a := chunkSource(bytes.NewReader(in), mem.Options{Budget: 256 << 10})
	sluicetest.NoLeaks(t, a)
	c := NewChunkReader(b, Limits{})
	if _, err := c.ReadMessage(); !errors.Is(err, mem.ErrBudget) {
		t.Errorf("%v, want %v", err, mem.ErrBudget)
	}
	c.Recycle()
	b.Recycle()
}

// A reader that is fed does not wait for memory, and the next call goes on in the middle of the message.
func TestCallIsRepeatedAfterTheBudgetWasUsedUp(t *testing.T) {
	const length, budget = 20_000, 256 << 10
	in := AppendChunkHeader(nil, 6, TypeVideo, 1, 0, length)
	for i := range length {
		if i > 0 && i%InitialChunkSize == 0 {
			in = AppendContinuation(in, 6, 0)
		}
		in = append(in, byte(i*7))
	}
	a := mem.New(mem.Options{Budget: budget})
	sluicetest.NoLeaks(t, a)
	b := sluice.NewBufReaderFed(sluice.Options{Allocator: a})
	c := NewChunkReader(b, Limits{})
	var m Message
	refused := 0
	for from, to := 0, 0; from < len(in); from = to {
		to = min(from+3000, len(in))
		others := a.Get(budget)
		if err := b.Feed(in[from:to]); err != nil {
			t.Fatal(err)
		}
		var err error
		m, err = c.ReadMessage()
		others.Release()
		if errors.Is(err, mem.ErrBudget) { // or the memory that it had was enough
			refused++
			m, err = c.ReadMessage()
		}
		if to < len(in) && !errors.Is(err, sluice.ErrShort) || to == len(in) && err != nil {
			t.Fatalf("at byte %d: %v", from, err)
		}
	}
	for i, v := range m.Payload.Bytes() {
		if v != byte(i*7) {
			t.Fatalf("byte %d is %d", i, v)
		}
	}
	if n := m.Payload.Len(); n != length || refused < 2 {
		t.Errorf("%d bytes, refused %d times", n, refused)
	}
	m.Release()
	c.Recycle()
	b.Recycle()
}

// hostileServe lets a server read in and returns how its request ended and how
// many bytes it answered with.
func hostileServe(t *testing.T, in []byte) (*Request, int, error) {
	t.Helper()
	b, a := chunkSource(bytes.NewReader(in), mem.Options{})
	sluicetest.NoLeaks(t, a)
	out := 0
	w := hostileWriter(a, func(p []byte) (int, error) { out += len(p); return len(p), nil })
	c := NewConn(b, w, Options{})
	req, err := c.ReadRequest()
	c.Recycle()
	b.Recycle()
	w.Recycle()
	return req, out, err
}

func TestHostileCommandsEndInAnError(t *testing.T) {
	command := func(name string, args ...amf0.Value) []byte {
		p, err := AppendCommand(nil, name, 1, args...)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	deep := append(command("connect"), bytes.Repeat([]byte("\x03\x00\x01a"), 1000)...)
	wide := append(command("connect"), bytes.Repeat([]byte{5}, 60_000)...)
	claims := append(command("connect"), 0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 5)
	for name, c := range map[string]struct {
		p    []byte
		want error
	}{
		"nested deep":             {deep, ErrProtocol},
		"60,000 values":           {wide, ErrProtocol},
		"an array of 2^32 values": {claims, ErrProtocol},
		"cut off":                 {command("connect")[:8], ErrProtocol},
		"nothing":                 {nil, ErrProtocol},
		"no name":                 {[]byte{5, 5, 5}, ErrProtocol},
		"random":                  {bytes.Repeat([]byte{0xA5}, 1000), ErrProtocol},
		"publish before connect":  {command("publish", nil, "s"), ErrProtocol},
		"connect without object":  {command("connect", nil), ErrProtocol},
	} {
		in := hostileMessage(TypeCommandAMF0, c.p)
		var err error
		allocs := testing.AllocsPerRun(1, func() { _, _, err = hostileServe(t, in) })
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if !sys.Race && !invariant.Enabled && allocs > 600 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
}

func TestEndlessCommandsEndInAnError(t *testing.T) {
	p, err := AppendCommand(nil, strings.Repeat("x", 60_000), 1)
	if err != nil {
		t.Fatal(err)
	}
	connect, err := AppendCommand(nil, "connect", 1, chunkObject("app", "live"))
	if err != nil {
		t.Fatal(err)
	}
	in := hostileMessage(TypeCommandAMF0, connect)
	for range 1000 {
		in = append(in, hostileMessage(TypeCommandAMF0, p)...)
	}
	_, out, err := hostileServe(t, in)
	if !errors.Is(err, ErrTooMany) {
		t.Errorf("%v, want %v", err, ErrTooMany)
	}
	if out > 100_000 {
		t.Errorf("it was answered with %d bytes", out)
	}
}

// hostileMessage is a message in chunks of the initial size.
func hostileMessage(typ MessageType, p []byte) []byte {
	out := AppendChunkHeader(nil, 3, typ, 0, 0, len(p))
	for i := 0; i < len(p); i += InitialChunkSize {
		if i > 0 {
			out = AppendContinuation(out, 3, 0)
		}
		out = append(out, p[i:min(i+InitialChunkSize, len(p))]...)
	}
	return out
}

// Each parameter of a query is a place in a map, for as few as two bytes.
func TestManyParametersOfAQuery(t *testing.T) {
	var query strings.Builder
	query.WriteString("token=x")
	for i := range 10_000 {
		fmt.Fprintf(&query, "&%x", i)
	}
	c := requestNew(t)
	c.command("connect", chunkObject("app", "live?"+"key=y", "tcUrl", "rtmp://h/live?"+query.String()))
	c.command("publish", nil, "s?one=1", "live")
	req, _, err := c.served(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(req.Query); n > 300 || req.Query.Get("token") != "x" || req.Query.Get("key") != "y" || req.Query.Get("one") != "1" || !req.Query.Has("fe") || req.Query.Has("ff") {
		t.Errorf("%d parameters, token %q, key %q, one %q", n, req.Query.Get("token"), req.Query.Get("key"), req.Query.Get("one"))
	}
}
