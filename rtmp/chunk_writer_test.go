package rtmp

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	sluice "github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// rounds is n, or a quarter of it under the race detector: one goroutine has no races, and the
// same tests run without the detector.
func rounds(n uint64) uint64 {
	if sys.Race {
		return n / 4
	}
	return n
}

func TestChunkWriterIsReadBack(t *testing.T) {
	seed := sluicetest.Seed(t)
	for i := range rounds(40) {
		r := rand.New(rand.NewPCG(seed, i))
		a := mem.New(mem.Options{})
		t.Run("", func(t *testing.T) {
			sluicetest.NoLeaks(t, a)
			var out bytes.Buffer
			w := sluice.NewBufWriter(&out, sluice.Options{Allocator: a})
			c := NewChunkWriter(w)
			var want []chunkMessage
			times := []uint32{0, 1, 20, 40, 60, 0xFFFFFE, 0xFFFFFF, 0x1000000, 1 << 31, 1<<32 - 1}
			var m chunkMessage
			for range 80 {
				if r.IntN(8) == 0 {
					if err := c.SetChunkSize([]int{1, 3, 100, 511, 512, 513, 4096, 65536, MaxChunkSize}[r.IntN(9)]); err != nil {
						t.Fatal(err)
					}
				}
				m.chunkStream = []uint32{0, 2, 3, 4, 7, 8, 64, 320}[r.IntN(8)]
				if r.IntN(3) == 0 {
					m.streamID = uint32(r.IntN(2))
				}
				if r.IntN(2) == 0 {
					m.typ = []MessageType{TypeAudio, TypeVideo, TypeDataAMF0, TypeCommandAMF0}[r.IntN(4)]
				}
				m.time += 20
				if r.IntN(4) == 0 {
					m.time = times[r.IntN(len(times))]
				}
				if r.IntN(2) == 0 {
					m.body = make([]byte, []int{0, 1, 100, 128, 700, 5000, 70_000}[r.IntN(7)])
					for i := range m.body {
						m.body[i] = byte(r.Uint32())
					}
				}
				if m.typ == 0 || m.typ == TypeCommandAMF0 && len(m.body) > defaultCommand {
					m.typ = TypeVideo
				}
				if err := c.WriteMessage(m.message(a)); err != nil {
					t.Fatal(err)
				}
				sent := m
				if sent.chunkStream == 0 {
					sent.chunkStream = chunkStreamOf(m.typ)
				}
				want = append(want, sent)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			got, err := chunkReadAll(NewChunkReader(sluice.NewBufReaderBytes(out.Bytes()), Limits{}))
			chunkCheck(t, got, want, err)
		})
	}
}

func TestChunkWriterChoosesTheShortestHeader(t *testing.T) {
	var out bytes.Buffer
	w := sluice.NewBufWriter(&out)
	c := NewChunkWriter(w)
	if err := c.SetChunkSize(4096); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name   string
		m      chunkMessage
		header string
	}{
		{"the first", chunkMessage{TypeAudio, 4, 1, 1000, []byte{1}}, "04 0003e8 000001 08 01000000"},
		{"another length", chunkMessage{TypeAudio, 4, 1, 1023, []byte{1, 2}}, "44 000017 000002 08"},
		{"the same length", chunkMessage{TypeAudio, 4, 1, 1040, []byte{1, 2}}, "84 000011"},
		{"the same difference", chunkMessage{TypeAudio, 4, 1, 1057, []byte{1, 2}}, "c4"},
		{"another type", chunkMessage{TypeVideo, 4, 1, 1057, []byte{1, 2}}, "44 000000 000002 09"},
		{"another message stream", chunkMessage{TypeVideo, 4, 2, 1057, []byte{1, 2}}, "04 000421 000002 09 02000000"},
		{"a format 3 behind a format 0 would repeat the time", chunkMessage{TypeVideo, 4, 2, 1057, []byte{1, 2}}, "84 000000"},
		{"time that goes back", chunkMessage{TypeVideo, 4, 2, 1056, []byte{1, 2}}, "04 000420 000002 09 02000000"},
		{"a long step", chunkMessage{TypeVideo, 4, 2, 1056 + 0xFFFFFF, []byte{1, 2}}, "04 ffffff 000002 09 02000000 0100041f"},
		{"a short step in a long time", chunkMessage{TypeVideo, 4, 2, 1056 + 0xFFFFFF + 5, []byte{1, 2}}, "84 000005"},
		{"a chunk stream that is not followed", chunkMessage{TypeVideo, 9, 2, 1, []byte{1}}, "09 000001 000001 09 02000000"},
		{"the same again", chunkMessage{TypeVideo, 9, 2, 2, []byte{1}}, "09 000002 000001 09 02000000"},
	} {
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		out.Reset()
		if err := c.WriteMessage(step.m.message(mem.Default())); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if want := append(chunkHex(t, step.header), step.m.body...); !bytes.Equal(out.Bytes(), want) {
			t.Errorf("%s: wrote % x, want % x", step.name, out.Bytes(), want)
		}
	}
}

// A live muxer's headers and a Conn's replies may stand in one stream.
func TestHeadersForManyReceiversStandAlone(t *testing.T) {
	var out []byte
	var want []chunkMessage
	for i, time := range []uint32{0, 40, 0xFFFFFE, 0xFFFFFF, 1<<32 - 1} {
		m := chunkMessage{TypeVideo, VideoChunkStream, 1, time, bytes.Repeat([]byte{byte(i)}, 300)}
		out = AppendChunkHeader(out, m.chunkStream, m.typ, m.streamID, m.time, len(m.body))
		for j := 0; j < len(m.body); j += InitialChunkSize {
			if j > 0 {
				out = AppendContinuation(out, m.chunkStream, m.time)
			}
			out = append(out, m.body[j:min(j+InitialChunkSize, len(m.body))]...)
		}
		want = append(want, m)
	}
	got, err := chunkReadAll(NewChunkReader(sluice.NewBufReaderBytes(out), Limits{}))
	chunkCheck(t, got, want, err)
}

func TestChunkWriterReleasesWhatItCannotWrite(t *testing.T) {
	broken := errors.New("broken")
	for _, n := range []int{0, 1, 600, 70_000, 1 << 20} {
		for _, size := range []int{1, 600, MaxChunkSize} {
			a := mem.New(mem.Options{})
			t.Run("", func(t *testing.T) {
				sluicetest.NoLeaks(t, a)
				w := sluice.NewBufWriter(writerFunc(func(p []byte) (int, error) { return 0, broken }), sluice.Options{Allocator: a})
				c := NewChunkWriter(w)
				var err error
				if err = c.SetChunkSize(size); err != nil {
					t.Fatal(err)
				}
				for err == nil {
					if err = c.WriteMessage(Message{Type: TypeVideo, Payload: a.Get(n)}); err == nil {
						err = w.Flush()
					}
				}
				if !errors.Is(err, broken) {
					t.Error(err)
				}
				if err := c.WriteMessage(Message{Type: TypeVideo, Payload: a.Get(n)}); !errors.Is(err, broken) {
					t.Error(err)
				}
			})
		}
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestChunkWriterRefusesWhatCannotBeSaid(t *testing.T) {
	for name, f := range map[string]func(c *ChunkWriter){
		"chunk size 0": func(c *ChunkWriter) { _ = c.SetChunkSize(0) },
		"chunk size 2^31": func(c *ChunkWriter) {
			n := MaxChunkSize
			_ = c.SetChunkSize(n + 1)
		},
		"a long message": func(c *ChunkWriter) {
			_ = c.WriteMessage(Message{Type: TypeVideo, Payload: mem.Wrap(make([]byte, MaxMessageLength+1), nil)})
		},
		"a long message that is not the first": func(c *ChunkWriter) {
			_ = c.WriteMessage(Message{Type: TypeVideo})
			_ = c.WriteMessage(Message{Type: TypeVideo, Payload: mem.Wrap(make([]byte, MaxMessageLength+1), nil)})
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f(NewChunkWriter(sluice.NewBufWriter(&bytes.Buffer{})))
		}()
	}
}
