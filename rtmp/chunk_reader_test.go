package rtmp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	sluice "github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

func TestChunkReaderReadsWhatPeersSend(t *testing.T) {
	seed := sluicetest.Seed(t)
	for i := range rounds(30) {
		p := chunkHistory(rand.New(rand.NewPCG(seed, i)), 60)
		for name, r := range sluicetest.Chunkings(p.out) {
			b, a := chunkSource(r, mem.Options{})
			t.Run("", func(t *testing.T) {
				sluicetest.NoLeaks(t, a)
				c := NewChunkReader(b, Limits{})
				got, err := chunkReadAll(c)
				b.Recycle()
				if c.unfinished != 0 || c.held != 0 || c.open != 0 {
					t.Errorf("%s: %d bytes in %d of %d messages are left", name, c.unfinished, c.held, c.open)
				}
				chunkCheck(t, got, p.done, err)
			})
		}
	}
}

func TestChunkReaderReadsManyHistories(t *testing.T) {
	seed := sluicetest.Seed(t)
	for i := range uint64(600) {
		p := chunkHistory(rand.New(rand.NewPCG(seed, i)), 60)
		got, err := chunkReadAll(NewChunkReader(sluice.NewBufReaderBytes(p.out), Limits{}))
		chunkCheck(t, got, p.done, err)
	}
}

func TestChunkReaderGoesOnAfterEachTimeout(t *testing.T) {
	p := chunkHistory(rand.New(rand.NewPCG(sluicetest.Seed(t), 0)), 60)
	for name, r := range sluicetest.TimeoutChunkings(p.out) {
		b, _ := chunkSource(r, mem.Options{})
		c := NewChunkReader(b, Limits{})
		var got []chunkMessage
		var err error
		for {
			var some []chunkMessage
			some, err = chunkReadAll(c)
			got = append(got, some...)
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				break
			}
		}
		b.Recycle()
		t.Log(name)
		chunkCheck(t, got, p.done, err)
	}
}

func TestChunkReaderOverAFeed(t *testing.T) {
	p := chunkHistory(rand.New(rand.NewPCG(sluicetest.Seed(t), 0)), 60)
	b := sluice.NewBufReaderFed()
	c := NewChunkReader(b, Limits{})
	var got []chunkMessage
	for i := range p.out {
		some, err := chunkReadAll(c)
		got = append(got, some...)
		if !errors.Is(err, sluice.ErrShort) {
			t.Fatalf("after %d bytes: %v", i, err)
		}
		if err := b.FeedCopy(p.out[i : i+1]); err != nil {
			t.Fatal(err)
		}
	}
	b.FeedEnd(nil)
	some, err := chunkReadAll(c)
	chunkCheck(t, append(got, some...), p.done, err)
}

func TestChunkFormats(t *testing.T) {
	for _, c := range []struct {
		name string
		in   string
		want []chunkMessage
	}{
		{"the example of the specification's section 5.3.2.1", `
			03 0003e8 000020 08 39300000` + strings.Repeat("01", 32) + `
			83 000014` + strings.Repeat("02", 32) + `
			c3` + strings.Repeat("03", 32) + `
			c3` + strings.Repeat("04", 32),
			[]chunkMessage{
				{TypeAudio, 3, 12345, 1000, bytes.Repeat([]byte{1}, 32)},
				{TypeAudio, 3, 12345, 1020, bytes.Repeat([]byte{2}, 32)},
				{TypeAudio, 3, 12345, 1040, bytes.Repeat([]byte{3}, 32)},
				{TypeAudio, 3, 12345, 1060, bytes.Repeat([]byte{4}, 32)},
			}},
		{"the example of section 5.3.2.2: 307 bytes in chunks of 128", `
			04 0003e8 000133 09 3a300000` + strings.Repeat("aa", 128) + "c4" + strings.Repeat("bb", 128) + "c4" + strings.Repeat("cc", 51),
			[]chunkMessage{{TypeVideo, 4, 12346, 1000,
				append(append(bytes.Repeat([]byte{0xaa}, 128), bytes.Repeat([]byte{0xbb}, 128)...), bytes.Repeat([]byte{0xcc}, 51)...)}}},
		{"a format 3 behind a format 0 repeats its time as the difference",
			"04 000028 000001 08 01000000 aa  c4 bb  c4 cc",
			[]chunkMessage{{TypeAudio, 4, 1, 40, []byte{0xaa}}, {TypeAudio, 4, 1, 80, []byte{0xbb}}, {TypeAudio, 4, 1, 120, []byte{0xcc}}}},
		{"a chunk stream that begins with format 1, as librtmp's second one does",
			"44 000028 000001 08 aa",
			[]chunkMessage{{TypeAudio, 4, 0, 40, []byte{0xaa}}}},
		{"a time that wraps", "04 ffffff 000001 08 01000000 fffffff0 aa  84 000020 bb",
			[]chunkMessage{{TypeAudio, 4, 1, 1<<32 - 16, []byte{0xaa}}, {TypeAudio, 4, 1, 16, []byte{0xbb}}}},
		{"an extended difference", "04 000001 000001 08 01000000 aa  84 ffffff 01000000 bb  c4 01000000 cc",
			[]chunkMessage{{TypeAudio, 4, 1, 1, []byte{0xaa}}, {TypeAudio, 4, 1, 1<<24 + 1, []byte{0xbb}}, {TypeAudio, 4, 1, 2<<24 + 1, []byte{0xcc}}}},
		{"an extended time that fits in 24 bits", "04 ffffff 000001 08 01000000 00000007 aa",
			[]chunkMessage{{TypeAudio, 4, 1, 7, []byte{0xaa}}}},
		{"empty messages", "04 000001 000000 08 01000000  c4",
			[]chunkMessage{{TypeAudio, 4, 1, 1, nil}, {TypeAudio, 4, 1, 2, nil}}},
		{"an id in a longer form than it needs", "00 03 000001 000001 08 01000000 aa  c1 03 00 bb",
			[]chunkMessage{{TypeAudio, 67, 1, 1, []byte{0xaa}}, {TypeAudio, 67, 1, 2, []byte{0xbb}}}},
		{"an aborted message", "04 000001 000100 09 01000000" + strings.Repeat("aa", 128) +
			"02 000000 000004 02 00000000 00000004  c4" + strings.Repeat("bb", 128) + "c4" + strings.Repeat("cc", 128),
			[]chunkMessage{{TypeVideo, 4, 1, 2, append(bytes.Repeat([]byte{0xbb}, 128), bytes.Repeat([]byte{0xcc}, 128)...)}}},
		{"an abort of what is not there", "02 000000 000004 02 00000000 00000009  04 000001 000001 08 01000000 aa",
			[]chunkMessage{{TypeAudio, 4, 1, 1, []byte{0xaa}}}},
		{"a chunk size that changes inside a message", "04 000001 000082 09 01000000" + strings.Repeat("aa", 128) +
			"02 000000 000004 01 00000000 00000001  c4 bb  c4 cc",
			[]chunkMessage{{TypeVideo, 4, 1, 1, append(bytes.Repeat([]byte{0xaa}, 128), 0xbb, 0xcc)}}},
	} {
		in := chunkHex(t, strings.NewReplacer("\n", "", "\t", "").Replace(c.in))
		for name, r := range sluicetest.Splits(in) {
			got, err := chunkReadAll(NewChunkReader(sluice.NewBufReader(r), Limits{}))
			t.Log(c.name, name)
			chunkCheck(t, got, c.want, err)
		}
	}
}

func TestExtendedTimestampOfContinuations(t *testing.T) {
	const time = 0x01020304
	body := bytes.Repeat([]byte{0xEE}, 300)
	write := func(stamp func([]byte) []byte) []byte {
		p := AppendChunkHeader(nil, 4, TypeVideo, 1, time, len(body))
		for i := 0; i < len(body); i += 128 {
			if i > 0 {
				p = stamp(append(p, 3<<6|4))
			}
			p = append(p, body[i:min(i+128, len(body))]...)
		}
		return p
	}
	repeated := func(p []byte) []byte { return binary.BigEndian.AppendUint32(p, time) }
	omitted := func(p []byte) []byte { return p }
	zeros := func(p []byte) []byte { return append(p, 0, 0, 0, 0) }
	for name, in := range map[string][]byte{"repeated": write(repeated), "left out": write(omitted), "zero instead": write(zeros)} {
		for how, r := range sluicetest.Splits(in) {
			got, err := chunkReadAll(NewChunkReader(sluice.NewBufReader(r), Limits{}))
			t.Log(name, how)
			chunkCheck(t, got, []chunkMessage{{TypeVideo, 4, 1, time, body}}, err)
		}
	}
}

// Zeros stand for the timestamp only as long as the peer has not left one out.
func TestZerosAreThePayloadOfAPeerThatLeavesTimestampsOut(t *testing.T) {
	body := append(bytes.Repeat([]byte{0xEE}, 256), 0, 0, 0, 0, 1)
	in := AppendChunkHeader(nil, 4, TypeVideo, 1, 0x01020304, len(body))
	in = append(in, body[:128]...)
	in = append(append(in, 3<<6|4), body[128:256]...)
	in = append(append(in, 3<<6|4), body[256:]...)
	for how, r := range sluicetest.Splits(in) {
		got, err := chunkReadAll(NewChunkReader(sluice.NewBufReader(r), Limits{}))
		t.Log(how)
		chunkCheck(t, got, []chunkMessage{{TypeVideo, 4, 1, 0x01020304, body}}, err)
	}
}

// A peer that leaves the timestamp out may have sent all that it has with less
// than four bytes: nothing more may be waited for.
func TestShortContinuationWithoutTimestampIsNotWaitedFor(t *testing.T) {
	in := AppendChunkHeader(nil, 4, TypeVideo, 1, 0x01020304, 129)
	in = append(append(in, make([]byte, 128)...), 3<<6|4, 0xEE)
	b := sluice.NewBufReaderFed()
	if err := b.FeedCopy(in); err != nil {
		t.Fatal(err)
	}
	m, err := NewChunkReader(b, Limits{}).ReadMessage()
	if err != nil {
		t.Fatal(err)
	}
	m.Release()
}

func TestChunkReaderEnds(t *testing.T) {
	in := AppendChunkHeader(nil, 4, TypeVideo, 1, 0x01020304, 200)
	in = append(append(in, make([]byte, 128)...), 3<<6|4, 1, 2, 3, 4)
	in = append(in, make([]byte, 72)...)
	for i := range in {
		_, err := NewChunkReader(sluice.NewBufReaderBytes(in[:i]), Limits{}).ReadMessage()
		want := io.ErrUnexpectedEOF
		if i == 0 {
			want = io.EOF
		}
		if !errors.Is(err, want) {
			t.Errorf("after %d of %d bytes: %v, want %v", i, len(in), err, want)
		}
	}
}

func TestChunkReaderRefuses(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     error
	}{
		{"format 2 first", "84 000000", ErrProtocol},
		{"format 3 first", "c4", ErrProtocol},
		{"a new message inside one", "04 000001 000100 09 01000000" + strings.Repeat("aa", 128) + "04 000001 000100 09 01000000", ErrProtocol},
		{"format 1 inside a message", "04 000001 000100 09 01000000" + strings.Repeat("aa", 128) + "44 000001 000100 09", ErrProtocol},
		{"chunk size 0", "02 000000 000004 01 00000000 00000000", ErrProtocol},
		{"chunk size 2^31", "02 000000 000004 01 00000000 80000000", ErrProtocol},
		{"chunk size of 3 bytes", "02 000000 000003 01 00000000 000080", ErrProtocol},
		{"abort of nothing", "02 000000 000000 02 00000000", ErrProtocol},
		{"a long video", "04 000000 400001 09 01000000", ErrTooLong},
		{"a long aggregate", "04 000000 ffffff 16 01000000", ErrTooLong},
		{"long data", "04 000000 100001 12 01000000", ErrTooLong},
		{"a long command", "03 000000 010001 14 00000000", ErrTooLong},
		{"a long AMF 3 command", "03 000000 010001 11 00000000", ErrTooLong},
		{"a long chunk size", "02 000000 000101 01 00000000", ErrTooLong},
		{"a long message of an unknown type", "03 000000 010001 63 00000000", ErrTooLong},
	} {
		_, err := NewChunkReader(sluice.NewBufReaderBytes(chunkHex(t, c.in)), Limits{}).ReadMessage()
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		var long *LengthError
		if errors.As(err, &long) != (c.want == ErrTooLong) || long != nil && long.Length != long.Limit+1 && long.Length != 1<<24-1 {
			t.Errorf("%s: %+v", c.name, long)
		}
	}
}

// A message that lies in one chunk is the memory that it was received into.
func TestOneChunkIsNotCopied(t *testing.T) {
	in := AppendChunkHeader(nil, 4, TypeVideo, 1, 0, 100)
	body := len(in)
	in = append(in, make([]byte, 100)...)
	m, err := NewChunkReader(sluice.NewBufReaderBytes(in), Limits{}).ReadMessage()
	if err != nil {
		t.Fatal(err)
	}
	if &m.Payload.Bytes()[0] != &in[body] {
		t.Error("the payload was copied")
	}
	m.Release()
}
