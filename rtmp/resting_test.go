package rtmp

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	sluice "github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// restingSide is a Conn that is fed, and what it answers.
type restingSide struct {
	r   *sluice.BufReader
	c   *Conn
	out bytes.Buffer
}

func restingNew(a *mem.Allocator) *restingSide {
	s := &restingSide{r: sluice.NewBufReaderFed(sluice.Options{Allocator: a})}
	s.c = NewConn(s.r, sluice.NewBufWriter(&s.out, sluice.Options{Allocator: a}), Options{})
	return s
}

// take feeds p and returns the messages that are complete.
func (s *restingSide) take(t *testing.T, p []byte) (all []chunkMessage) {
	t.Helper()
	if err := s.r.FeedCopy(p); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := s.c.ReadMessage()
		if errors.Is(err, sluice.ErrShort) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, chunkPlain(&m))
	}
}

func (s *restingSide) drop() {
	s.c.Recycle()
	s.r.Recycle()
}

// restingInput is what a client may say: messages that refer to those before them, a
// chunk size, a window to acknowledge and pings.
func restingInput(t *testing.T, random *rand.Rand) []byte {
	t.Helper()
	var out bytes.Buffer
	w := sluice.NewBufWriter(&out)
	c := NewChunkWriter(w)
	at := uint32(random.IntN(1 << 25))
	for range 40 {
		var err error
		at += uint32(random.IntN(50))
		switch random.IntN(8) {
		case 0:
			err = c.SetChunkSize(1 + random.IntN(300))
		case 1:
			err = c.writeControl(TypeWindowAckSize, uint32(leastWindow+random.IntN(4000)))
		case 2:
			err = c.writeEvent(EventPingRequest, at)
		default:
			typ := []MessageType{TypeAudio, TypeVideo, TypeDataAMF0, TypeCommandAMF0}[random.IntN(4)]
			body := bytes.Repeat([]byte{byte(at)}, random.IntN(3)*random.IntN(400))
			err = c.WriteMessage(Message{Type: typ, StreamID: 1, Time: at, Payload: mem.Wrap(body, nil)})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A connection that rests whenever it can, and goes on with whichever Conn is free,
// understands and answers what one that never rests does.
func TestRestingConnGoesOn(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 0))
		in := restingInput(t, random)
		a := mem.New(mem.Options{})
		sluicetest.NoLeaks(t, a)
		plain, now, other := restingNew(a), restingNew(a), restingNew(a)
		var answers bytes.Buffer
		var state Resting
		rests, step := 0, 1+random.IntN(200)
		for i := 0; i < len(in); i += step {
			p := in[i:min(i+step, len(in))]
			want, got := plain.take(t, p), now.take(t, p)
			if len(got) != len(want) {
				t.Fatalf("seed %d, byte %d: %d messages, want %d", seed, i, len(got), len(want))
			}
			for k := range got {
				if !chunkSame(got[k], want[k]) {
					t.Fatalf("seed %d, byte %d: message %v, want %v", seed, i, got[k], want[k])
				}
			}
			buffered := now.r.Buffered() > 0
			if now.c.Rest(&state) {
				if rests++; buffered {
					t.Fatalf("seed %d, byte %d: it rests with a part of a message", seed, i)
				}
				answers.Write(now.out.Bytes())
				now.out.Reset()
				now, other = other, now
				now.r.Reset(nil)
				now.c.Wake(&state)
			}
		}
		answers.Write(now.out.Bytes())
		want, err := chunkReadAll(NewChunkReader(sluice.NewBufReaderBytes(plain.out.Bytes()), Limits{}))
		got, wrong := chunkReadAll(NewChunkReader(sluice.NewBufReaderBytes(answers.Bytes()), Limits{}))
		chunkCheck(t, got, want, wrong)
		if err != wrong || step == 1 && rests < 20 {
			t.Errorf("seed %d: %v, %d rests of 40 messages", seed, err, rests)
		}
		for _, s := range []*restingSide{plain, now, other} {
			s.drop()
		}
	}
}

func TestRestingAllocatesNothing(t *testing.T) {
	allocsCounted(t)
	s := restingNew(mem.New(mem.Options{}))
	defer s.drop()
	in := append(AppendChunkHeader(nil, 3, TypeCommandAMF0, 0, 0, 4), "abcd"...)
	in = append(in, AppendChunkHeader(nil, 8, TypeDataAMF0, 1, 0, 1)...)
	in = append(in, 'x')
	s.take(t, in)
	var state Resting
	if n := allocsPer(func() {
		if !s.c.Rest(&state) {
			t.Fatal("it does not rest")
		}
		s.c.Wake(&state)
	}); n > allocsLimit {
		t.Errorf("%v allocations", n)
	}
}
