package flvbody_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvbody"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/flvtest"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// minRate is the least rate of these tests, in bytes a second.
const minRate = 10

// bodyConn is a connection that only reads, without deadlines.
type bodyConn struct {
	net.Conn
	r io.Reader
}

const maxTag = 8 << 20

func (c bodyConn) Read(p []byte) (int, error)      { return c.r.Read(p) }
func (c bodyConn) SetReadDeadline(time.Time) error { return nil }

// readBody reads the tags of a body to its end, and returns how it ended and
// what of the connection was left.
func readBody(t *testing.T, r io.Reader, length int64) (tags []flvtest.Tag, rest string, err error) {
	t.Helper()
	conn := bodyConn{r: r}
	raw := sluice.NewBufReader(conn)
	b := flvbody.New(raw, length, maxTag, session.PeerError)
	defer b.Close()
	for {
		tag, err := b.Next()
		if err != nil {
			left, _ := io.ReadAll(raw)
			return tags, string(left), err
		}
		tags = append(tags, flvtest.Tag{Type: tag.Type, Time: tag.Time, Payload: string(tag.Payload.Bytes())})
		tag.Release()
	}
}

func TestBodyInAllChunks(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	file, want := flvtest.Sizes()
	want = want[:4]
	file = file[:bodyEnd(want)]
	for i := 0; i <= len(file); i++ {
		for j := i; j <= len(file); j++ {
			tags, rest, err := readBody(t, bytes.NewReader(flvtest.Chunked(file[:i], file[i:j], file[j:])), -1)
			if err != io.EOF || !slices.Equal(tags, want) || rest != "NEXT" {
				t.Fatalf("chunks up to %d, %d: %v, %d tags, then %q", i, j, err, len(tags), rest)
			}
		}
	}
}

func TestBodyInChunksOfAnySize(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	file, want := flvtest.Sizes()
	for n := 1; n <= len(file); n++ {
		body := flvtest.Chunked(slices.Collect(slices.Chunk(file, n))...)
		for name, r := range map[string]io.Reader{
			"whole":  bytes.NewReader(body),
			"bytes":  iotest.OneByteReader(bytes.NewReader(body)),
			"halves": iotest.HalfReader(bytes.NewReader(body)),
			"eof":    iotest.DataErrReader(bytes.NewReader(body)),
		} {
			tags, rest, err := readBody(t, r, -1)
			if err != io.EOF || !slices.Equal(tags, want) || rest != "NEXT" {
				t.Fatalf("chunks of %d, read as %s: %v, %d tags, then %q", n, name, err, len(tags), rest)
			}
		}
	}
}

func TestBodyInRandomChunksAndReads(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	rnd := rand.New(rand.NewPCG(sluicetest.Seed(t), 0))
	want := flvtest.Clip(t)[:60]
	file := append([]byte(nil), flvtest.Header...)
	for _, g := range want {
		file = g.Append(file)
	}
	for range 30 {
		most := 1 << (1 + rnd.IntN(18))
		var parts [][]byte
		for rest := file; len(rest) > 0; {
			n := min(1+rnd.IntN(most), len(rest))
			parts = append(parts, rest[:n])
			rest = rest[n:]
		}
		r := &bodyReads{r: bytes.NewReader(flvtest.Chunked(parts...)), rnd: rnd, most: 1 << (4 + rnd.IntN(14))}
		tags, rest, err := readBody(t, r, -1)
		if err != io.EOF || !slices.Equal(tags, want) || rest != "NEXT" {
			t.Fatalf("chunks of up to %d, reads of up to %d: %v, %d tags, then %q", most, r.most, err, len(tags), rest)
		}
	}
}

// bodyReads returns a random number of bytes at a time.
type bodyReads struct {
	r    io.Reader
	rnd  *rand.Rand
	most int
}

func (b *bodyReads) Read(p []byte) (int, error) {
	return b.r.Read(p[:min(len(p), 1+b.rnd.IntN(b.most))])
}

func TestBodyWithLength(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	file, want := flvtest.Sizes()
	for _, r := range []io.Reader{
		strings.NewReader(string(file) + "NEXT"),
		iotest.OneByteReader(strings.NewReader(string(file) + "NEXT")),
	} {
		tags, rest, err := readBody(t, r, int64(len(file)))
		if err != io.EOF || !slices.Equal(tags, want) || rest != "NEXT" {
			t.Errorf("%v, %d tags, then %q", err, len(tags), rest)
		}
	}
	for n := range len(file) {
		tags, rest, err := readBody(t, strings.NewReader(string(file[:n])+"NEXT"), int64(n))
		whole := slices.Equal(tags, want[:len(tags)])
		boundary := n == flv.HeaderLen || len(tags) > 0 && (n == bodyEnd(want[:len(tags)]) || n == bodyEnd(want[:len(tags)])-flv.PrevTagSizeLen)
		ok := err == io.EOF && (boundary || n == len(flvtest.Header)) || errors.Is(err, io.ErrUnexpectedEOF) && !boundary
		if !whole || !ok || rest != "NEXT" {
			t.Errorf("a body of %d bytes: %v, %d tags, then %q", n, err, len(tags), rest)
		}
	}
}

// bodyEnd is where the last of the tags ends.
func bodyEnd(tags []flvtest.Tag) int {
	n := len(flvtest.Header)
	for _, g := range tags {
		n += flv.TagHeaderLen + len(g.Payload) + flv.PrevTagSizeLen
	}
	return n
}

func TestBodyThatTheConnectionCutsOff(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	file, _ := flvtest.Sizes()
	body := flvtest.Chunked(slices.Collect(slices.Chunk(file, 20))...)
	body = body[:len(body)-len("NEXT")]
	for n := range len(body) {
		if _, _, err := readBody(t, bytes.NewReader(body[:n]), -1); err != session.ErrPeerGone {
			t.Fatalf("after %d bytes: %v", n, err)
		}
	}
	if _, _, err := readBody(t, bytes.NewReader(file), int64(len(file)+1)); err != session.ErrPeerGone {
		t.Errorf("shorter than it said: %v", err)
	}
	broken := errors.New("broken wire")
	if _, _, err := readBody(t, io.MultiReader(bytes.NewReader(body[:100]), iotest.ErrReader(broken)), -1); !errors.Is(err, broken) {
		t.Errorf("broken: %v", err)
	}
}

// A connection that was reset is a publisher who has gone, as one that was closed.
func TestBodyOfAConnectionThatIsReset(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	file, _ := flvtest.Sizes()
	reset := &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	r := io.MultiReader(bytes.NewReader(flvtest.Chunked(file)[:len(file)/2]), iotest.ErrReader(reset))
	if _, _, err := readBody(t, r, -1); err != session.ErrPeerGone {
		t.Error(err)
	}
}

func TestBodyWithBadChunks(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	file, _ := flvtest.Sizes()
	size := fmt.Sprintf("%x\r\n", len(file))
	for _, text := range []string{
		"\r\n",
		"-1\r\n",
		"+5\r\nabcde\r\n",
		"0x5\r\nabcde\r\n",
		"g\r\n",
		" 5\r\n",
		"5 5\r\nabcde\r\n",
		"ffffffffffffffff\r\n",
		"8000000000000000\r\n",
		"100000000000000000\r\n",
		strings.Repeat("0", 2000) + "\r\n",
		"5;" + strings.Repeat("x", 5000) + "\r\n",
		size + string(file) + "x\r\n0\r\n\r\n",
		size + string(file) + "0\r\n\r\n",
		size + string(file) + "\r\n0\r\n" + strings.Repeat("a: b\r\n", 100) + "\r\n",
		size + string(file) + "\r\n0\r\n" + strings.Repeat("a", 2000) + "\r\n\r\n",
	} {
		if _, _, err := readBody(t, strings.NewReader(text), -1); !errors.Is(err, flvbody.ErrFraming) {
			t.Errorf("%.30q: %v", text, err)
		}
	}
}

func TestBodyThatIsNoFLV(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	long := flv.TagHeader{Type: flv.TagVideo, Size: maxTag + 1}.Append(append([]byte(nil), flvtest.Header...))
	for _, c := range []struct {
		text string
		want error
	}{
		{"", io.ErrUnexpectedEOF},
		{"FLV", io.ErrUnexpectedEOF},
		{"RIFFxxxxWAVEfmt ", flv.ErrSyntax},
		{string(flvtest.Header) + strings.Repeat("\xff", 100), flv.ErrSyntax},
		{string(long) + "1234567", flv.ErrTooLong},
	} {
		for _, length := range []int64{-1, int64(len(c.text))} {
			text := c.text
			if length < 0 {
				text = string(flvtest.Chunked([]byte(c.text)))
			}
			if _, _, err := readBody(t, strings.NewReader(text), length); !errors.Is(err, c.want) {
				t.Errorf("%.20q with length %d: %v", c.text, length, err)
			}
		}
	}
}

// Memory follows what has come, not what chunk and tag say that will.
func TestBodyThatClaimsMuch(t *testing.T) {
	alloc := mem.New(mem.Options{Name: "claims"})
	head := flv.TagHeader{Type: flv.TagVideo, Size: maxTag}.Append(append([]byte(nil), flvtest.Header...))
	text := "3fffffff\r\n" + string(head) + strings.Repeat("x", 1000)
	stuck := errors.New("no more")
	conn := bodyConn{r: io.MultiReader(strings.NewReader(text), iotest.ErrReader(stuck))}
	raw := &sluice.BufReader{Allocator: alloc}
	raw.Reset(conn)
	b := flvbody.New(raw, -1, maxTag, nil)
	if _, err := b.Next(); !errors.Is(err, stuck) {
		t.Fatal(err)
	}
	if out := alloc.Stats().OutBytes; out > 130<<10 {
		t.Errorf("%d bytes are held for %d that came", out, len(text))
	}
	b.Close()
	if out := alloc.Stats().OutBytes; out != 0 {
		t.Errorf("%d bytes are held at the end", out)
	}
}

// A publisher that sends every byte in a chunk of its own needs no more memory
// than others.
func TestBodyInTinyChunksIsBroughtTogether(t *testing.T) {
	alloc := mem.New(mem.Options{Name: "tiny"})
	const size = 100_000
	file := flv.TagHeader{Type: flv.TagVideo, Size: 2 * size}.Append(append([]byte(nil), flvtest.Header...))
	file = append(file, make([]byte, size)...)
	text := flvtest.Chunked(slices.Collect(slices.Chunk(file, 1))...)
	text = text[:len(text)-len("0\r\nTrailer: x\r\n\r\nNEXT")]
	stuck := errors.New("no more")
	conn := bodyConn{r: io.MultiReader(bytes.NewReader(text), iotest.ErrReader(stuck))}
	raw := &sluice.BufReader{Allocator: alloc}
	raw.Reset(conn)
	b := flvbody.New(raw, -1, maxTag, nil)
	if _, err := b.Next(); !errors.Is(err, stuck) {
		t.Fatal(err)
	}
	if s := alloc.Stats(); s.OutBytes > 2*size+200<<10 || s.CheckedOut > 100 {
		t.Errorf("%d bytes in %d blocks are held for %d that came", s.OutBytes, s.CheckedOut, size)
	}
	b.Close()
}

// A tag in one chunk is handed on where it was received: nothing is copied or
// allocated for it.
func TestBodyDoesNotCopyWholeTags(t *testing.T) {
	tag := flvtest.Tag{Type: flv.TagVideo, Time: 1, Payload: strings.Repeat("v", 5000)}
	one := tag.Append(nil)
	const tags = 2000
	file := bytes.Repeat(one, tags)
	for name, text := range map[string][]byte{
		"one chunk":          flvtest.Chunked(flvtest.Header, file),
		"a chunk for each":   flvtest.Chunked(append([][]byte{flvtest.Header}, slices.Collect(slices.Chunk(file, len(one)))...)...),
		"a chunk for eleven": flvtest.Chunked(append([][]byte{flvtest.Header}, slices.Collect(slices.Chunk(file, 11*len(one)))...)...),
	} {
		conn := bodyConn{r: bytes.NewReader(text)}
		b := flvbody.New(sluice.NewBufReader(conn), -1, maxTag, nil)
		before := mem.Default().Stats()
		allocs := testing.AllocsPerRun(1, func() {
			for range tags / 2 {
				tag, err := b.Next()
				if err != nil {
					t.Fatal(err)
				}
				tag.Release()
			}
		})
		after := mem.Default().Stats()
		b.Close()
		// Under the race detector pools drop a part of what they are given.
		if got := allocs / (tags / 2); got > 0.9 {
			t.Errorf("%s: %.2f allocations a tag", name, got)
		}
		var blocks int64 = after.Hits + after.Misses - before.Hits - before.Misses
		if most := int64(2 * len(text) / (32 << 10)); blocks > most {
			t.Errorf("%s: %d blocks for %d bytes, at most %d", name, blocks, len(text), most)
		}
	}
}

// deadlineConn is a connection in a time of its own: bytes come one by one at
// even distances, and a read that reaches the deadline fails.
type deadlineConn struct {
	net.Conn
	now, deadline, next time.Time
	every               time.Duration // between bytes; 0 for none
	text                string
}

func (c *deadlineConn) SetReadDeadline(t time.Time) error { c.deadline = t; return nil }

func (c *deadlineConn) Read(p []byte) (int, error) {
	switch {
	case c.text == "":
		return 0, io.EOF
	case c.every == 0 || c.next.After(c.deadline):
		if c.deadline.After(c.now) {
			c.now = c.deadline
		}
		return 0, os.ErrDeadlineExceeded
	}
	c.now, c.next = c.next, c.next.Add(c.every)
	p[0] = c.text[0]
	c.text = c.text[1:]
	return 1, nil
}

func TestPublishersMayNotBeSilentOrSlow(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	file, want := flvtest.Sizes()
	slow := time.Second / minRate
	usual := session.Times{}.WithDefaults()
	usual.Silence = 10 * time.Second
	for _, c := range []struct {
		name    string
		every   time.Duration
		busy    time.Duration // for each tag
		want    error
		atLeast time.Duration // for the end
		atMost  time.Duration
	}{
		{"silent", 0, 0, session.ErrIdle, usual.Silence, usual.Silence * 9 / 8},
		{"one byte a second", time.Second, 0, session.ErrTooSlow, usual.Rate, usual.Rate * 9 / 8},
		{"a little less than the minimum", slow * 21 / 20, 0, session.ErrTooSlow, usual.Rate, 100 * usual.Rate},
		{"a little more than the minimum", slow * 19 / 20, 0, io.EOF, 0, time.Hour},
		{"bytes between long silences", usual.Silence * 2 / 3, 0, session.ErrTooSlow, usual.Rate, 2 * usual.Rate},
		{"held up by viewers", slow * 19 / 20, 3 * usual.Silence, io.EOF, 0, time.Hour},
	} {
		for _, text := range []string{
			strings.TrimSuffix(string(flvtest.Chunked(file)), "NEXT"),
			"5;" + strings.Repeat("x", 900) + "\r\n" + string(file[:5]) + "\r\n" + strings.TrimSuffix(string(flvtest.Chunked(file[5:])), "NEXT"),
		} {
			began := time.Unix(1e9, 0)
			conn := &deadlineConn{now: began, next: began.Add(c.every), every: c.every, text: text}
			p := session.NewWatchdogAt(conn, usual.Silence, usual.Rate, usual.Silence/8, minRate, func() time.Time { return conn.now })
			raw := sluice.NewBufReader(conn)
			b := flvbody.New(raw, flvbody.Chunked, maxTag, func(err error) error {
				if errors.Is(err, os.ErrDeadlineExceeded) {
					return p.Check(raw.TotalRead())
				}
				return session.PeerError(err)
			})
			n := 0
			var err error
			for {
				var tag flv.Tag
				if tag, err = b.Next(); err != nil {
					break
				}
				tag.Release()
				n++
				p.Exclude(func() error {
					conn.now = conn.now.Add(c.busy)
					conn.next = conn.next.Add(c.busy)
					return nil
				})
			}
			b.Close()
			took := conn.now.Sub(began)
			if !errors.Is(err, c.want) || err == io.EOF && n != len(want) {
				t.Errorf("%s: %v after %d tags and %v", c.name, err, n, took)
			}
			if took < c.atLeast || took > c.atMost {
				t.Errorf("%s: took %v, want %v to %v", c.name, took, c.atLeast, c.atMost)
			}
		}
	}
}

// A body that ends with the connection ends after a whole tag, or is cut off.
func TestBodyToTheEnd(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	file, want := flvtest.Sizes()
	file = file[:bodyEnd(want)]
	read := func(n int) (got []flvtest.Tag, err error) {
		for _, r := range []io.Reader{bytes.NewReader(file[:n]), iotest.OneByteReader(bytes.NewReader(file[:n])), iotest.DataErrReader(bytes.NewReader(file[:n]))} {
			var tags []flvtest.Tag
			tags, _, err = readBody(t, r, flvbody.ToTheEnd)
			if got != nil && !slices.Equal(tags, got) {
				t.Errorf("%d bytes: %d tags, and %d", n, len(got), len(tags))
			}
			got = tags
		}
		return got, err
	}
	whole := 0
	for n := range len(file) + 1 {
		tags, err := read(n)
		switch {
		case err == io.EOF:
			whole++
		case errors.Is(err, io.ErrUnexpectedEOF):
		default:
			t.Fatalf("%d of %d bytes: %v", n, len(file), err)
		}
		if !slices.Equal(tags, want[:len(tags)]) {
			t.Fatalf("%d bytes: %d tags are not the first", n, len(tags))
		}
	}
	if tags, err := read(len(file)); err != io.EOF || len(tags) != len(want) || whole < len(want) {
		t.Errorf("%v after %d tags of %d; %d lengths end well", err, len(tags), len(want), whole)
	}
}

func FuzzBody(f *testing.F) {
	file, _ := flvtest.Sizes()
	f.Add(flvtest.Chunked(file), true)
	f.Add(flvtest.Chunked(file[:20], file[20:]), true)
	f.Add(file, false)
	f.Add([]byte("5;x\r\nFLV\x01\x05\r\n0\r\n\r\n"), true)
	f.Add([]byte("ffffffff\r\n"), true)
	f.Fuzz(func(t *testing.T, text []byte, chunks bool) {
		length := int64(-1)
		if !chunks {
			length = int64(len(text))
		}
		all, _, err := readBody(t, bytes.NewReader(text), length)
		again, _, err2 := readBody(t, iotest.OneByteReader(bytes.NewReader(text)), length)
		if !slices.Equal(all, again) || (err == io.EOF) != (err2 == io.EOF) {
			t.Errorf("%d tags and %v; byte by byte %d tags and %v", len(all), err, len(again), err2)
		}
		if chunks {
			return
		}
		for _, r := range []io.Reader{bytes.NewReader(text), iotest.OneByteReader(bytes.NewReader(text)), iotest.DataErrReader(bytes.NewReader(text))} {
			open, _, err3 := readBody(t, r, flvbody.ToTheEnd)
			if !slices.Equal(all, open) || (err == io.EOF) != (err3 == io.EOF) {
				t.Errorf("%d tags and %v; to the end of the connection %d tags and %v", len(all), err, len(open), err3)
			}
		}
		d := flv.NewDecoder(sluice.NewBufReaderBytes(text))
		d.MaxTag = maxTag
		_, err = d.ReadHeader()
		for i := 0; err == nil; i++ {
			var tag flv.Tag
			if tag, err = d.Next(); err != nil {
				if i != len(all) {
					t.Errorf("%d tags and %v; in one piece %d", len(all), err2, i)
				}
				break
			}
			if got := (flvtest.Tag{Type: tag.Type, Time: tag.Time, Payload: string(tag.Payload.Bytes())}); i >= len(all) || got != all[i] {
				t.Fatalf("tag %d of %d is another in one piece", i, len(all))
			}
			tag.Release()
		}
	})
}
