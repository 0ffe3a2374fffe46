package rtmp

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	sluice "github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// A connection that another Conn goes on with anywhere, also inside a header or a message,
// gives the same messages and answers.
func TestConnStateGoesOn(t *testing.T) {
	a := mem.New(mem.Options{})
	sluicetest.NoLeaks(t, a)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	for range 60 {
		input := restingInput(t, random)
		whole := restingNew(a)
		var want, got []chunkMessage
		var answers []byte
		one := restingNew(a)
		for rest := input; len(rest) > 0; {
			n := min(len(rest), 1+random.IntN(300))
			// In the same pieces: what is acknowledged, and when, follows what was received.
			want = append(want, whole.take(t, rest[:n])...)
			got = append(got, one.take(t, rest[:n])...)
			rest = rest[n:]
			st, err := one.c.State()
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			text, err := json.Marshal(st)
			if err != nil {
				t.Fatal(err)
			}
			st = ConnState{}
			if err := json.Unmarshal(text, &st); err != nil {
				t.Fatal(err)
			}
			if random.IntN(2) == 0 {
				continue // it was not given away after all
			}
			answers = append(answers, one.out.Bytes()...)
			one.drop()
			one = restingNew(a)
			if len(st.Rest) > 0 {
				if err := one.r.FeedCopy(st.Rest); err != nil {
					t.Fatal(err)
				}
			}
			if err := one.c.Restore(&st); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		answers = append(answers, one.out.Bytes()...)
		if !slices.EqualFunc(got, want, chunkSame) {
			t.Fatalf("seed %d: %d messages, want %d", seed, len(got), len(want))
		}
		wants, err := chunkReadAll(NewChunkReader(sluice.NewBufReaderBytes(whole.out.Bytes()), Limits{}))
		gots, wrong := chunkReadAll(NewChunkReader(sluice.NewBufReaderBytes(answers), Limits{}))
		if !errors.Is(wrong, err) || !slices.EqualFunc(gots, wants, chunkSame) {
			t.Fatalf("seed %d: %d answers, %v, want %d, %v", seed, len(gots), wrong, len(wants), err)
		}
		one.drop()
		whole.drop()
	}
}

func TestConnStateThatCannotBeRight(t *testing.T) {
	a := mem.New(mem.Options{})
	sluicetest.NoLeaks(t, a)
	good := ConnState{InChunk: 128, OutChunk: 128, Chunks: []ChunkPart{{ID: 4, Length: 500, Type: TypeVideo, Known: true, Open: true, Have: make([]byte, 100)}}}
	for i, change := range []func(s *ConnState){
		func(*ConnState) {},
		func(s *ConnState) { s.InChunk = 0 },
		func(s *ConnState) { s.OutChunk = -1 },
		func(s *ConnState) { s.Rest = []byte{1} },
		func(s *ConnState) { s.Got = -1 },
		func(s *ConnState) { s.Inside = true },
		func(s *ConnState) { s.Inside, s.Current, s.Left = true, 4, 401 },
		func(s *ConnState) { s.Chunks = make([]ChunkPart, 1000) },
		func(s *ConnState) { s.Chunks = []ChunkPart{s.Chunks[0], s.Chunks[0]} },
		func(s *ConnState) { s.Chunks = []ChunkPart{{ID: 4, Length: 1, Open: true, Have: make([]byte, 2)}} },
		func(s *ConnState) { s.Chunks = []ChunkPart{{ID: 4, Length: 1 << 30}} },
	} {
		s := good
		change(&s)
		one := restingNew(a)
		if err := one.c.Restore(&s); (err == nil) != (i == 0) || err != nil && !errors.Is(err, ErrState) {
			t.Errorf("%d: %v", i, err)
		}
		one.drop()
	}
}
