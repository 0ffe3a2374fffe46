package sluice_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// The behaviour of bufio.Reader that existing code relies on.

var errSource = errors.New("the source broke")

// reply is one Read of a scripted source: bytes, and an error with them.
type reply struct {
	p   string
	err error
}

// scripted is a source that gives one reply for each Read, and io.EOF when
// there are no more.
type scripted struct{ replies []reply }

func replies(r ...reply) *scripted { return &scripted{r} }

func (s *scripted) Read(p []byte) (int, error) {
	if len(s.replies) == 0 {
		return 0, io.EOF
	}
	r := &s.replies[0]
	n := copy(p, r.p)
	if n < len(r.p) {
		r.p = r.p[n:]
		return n, nil
	}
	err := r.err
	s.replies = s.replies[1:]
	return n, err
}

func mustReadByte(t *testing.T, r *sluice.BufReader, want byte) {
	t.Helper()
	if c, err := r.ReadByte(); c != want || err != nil {
		t.Fatalf("ReadByte: %q, %v; want %q", c, err, want)
	}
}

func TestPeekShowsWhatReadThenGives(t *testing.T) {
	r := readerOf(t, paranoid(t), 0, iotest.HalfReader(strings.NewReader("abcdefghijklmnop")))
	for _, c := range []struct {
		n    int
		want string
	}{{1, "a"}, {4, "abcd"}, {0, ""}, {16, "abcdefghijklmnop"}, {2, "ab"}} {
		if p, err := r.Peek(c.n); string(p) != c.want || err != nil {
			t.Fatalf("Peek(%d): %q, %v", c.n, p, err)
		}
	}
	p := make([]byte, 3)
	if n, err := r.Read(p); string(p[:n]) != "abc" || err != nil {
		t.Fatalf("Read: %q, %v", p[:n], err)
	}
	if p, err := r.Peek(2); string(p) != "de" || err != nil {
		t.Fatalf("Peek after Read: %q, %v", p, err)
	}
	if _, err := r.Peek(-1); err != bufio.ErrNegativeCount {
		t.Fatalf("Peek(-1): %v", err)
	}
	for range 2 {
		if p, err := r.Peek(14); string(p) != "defghijklmnop" || err != io.EOF {
			t.Fatalf("Peek beyond the end: %q, %v", p, err)
		}
	}
	if p, err := r.Next(13); string(p) != "defghijklmnop" || err != nil {
		t.Fatalf("Next after Peek: %q, %v", p, err)
	}
	if p, err := r.Peek(0); len(p) != 0 || err != nil {
		t.Fatalf("Peek(0) at the end: %q, %v", p, err)
	}
	if p, err := r.Peek(1); len(p) != 0 || err != io.EOF {
		t.Fatalf("Peek(1) at the end: %q, %v", p, err)
	}
}

func TestPeekThenUnreadByteOfPartOfAStream(t *testing.T) {
	// The sequence from which bufio once came back with a wrong byte.
	r := readerOf(t, paranoid(t), 16, replies(reply{"abcdefg", nil}, reply{"", errSource}, reply{"hij", nil}))
	mustReadByte(t, r, 'a')
	if _, err := r.Peek(10); err != errSource {
		t.Fatalf("Peek: %v", err)
	}
	refusesUnread(t, r, "after Peek")
	mustReadByte(t, r, 'b')
	if err := r.UnreadByte(); err != nil {
		t.Fatal(err)
	}
	if p, err := r.Peek(9); string(p) != "bcdefghij" || err != nil {
		t.Fatalf("Peek: %q, %v", p, err)
	}
}

func TestReadSliceAtTheEnd(t *testing.T) {
	r := readerOf(t, paranoid(t), 16, strings.NewReader("first,second half without end"))
	if p, err := r.ReadSlice(','); string(p) != "first," || err != nil {
		t.Fatalf("ReadSlice: %q, %v", p, err)
	}
	if p, err := r.ReadSlice(','); string(p) != "second half without end" || err != io.EOF {
		t.Fatalf("ReadSlice without a delimiter: %q, %v", p, err)
	}
	if p, err := r.ReadSlice(','); len(p) != 0 || err != io.EOF {
		t.Fatalf("ReadSlice at the end: %q, %v", p, err)
	}
}

func TestReadGivesWhatThereIsAndDoesNotWaitForMore(t *testing.T) {
	r := readerOf(t, paranoid(t), 0, replies(reply{"ab", nil}, reply{"cde", nil}))
	p := make([]byte, 100)
	for _, want := range []string{"ab", "cde"} {
		if n, err := r.Read(p); string(p[:n]) != want || err != nil {
			t.Fatalf("Read: %q, %v; want %q", p[:n], err, want)
		}
	}
	if n, err := r.Read(p); n != 0 || err != io.EOF {
		t.Fatalf("Read at the end: %d, %v", n, err)
	}
	if n, err := r.Read(nil); n != 0 || err != nil {
		t.Fatalf("Read of nothing at the end: %d, %v", n, err)
	}
}

func TestBytesThatComeWithAnErrorAreDeliveredBeforeIt(t *testing.T) {
	for _, c := range []struct {
		name string
		call func(r *sluice.BufReader) (string, error)
	}{
		{"Next", func(r *sluice.BufReader) (string, error) { p, err := r.Next(5); return string(p), err }},
		{"Peek and Skip", func(r *sluice.BufReader) (string, error) {
			_, err := r.Peek(1)
			s := string(r.View())
			_ = r.Skip(len(s))
			return s, err
		}},
		{"ReadBuf", func(r *sluice.BufReader) (string, error) {
			b, err := r.ReadBuf(5)
			if err != nil {
				return "", err
			}
			defer b.Release()
			return string(b.Bytes()), nil
		}},
		{"ReadRange", func(r *sluice.BufReader) (s string, err error) {
			err = r.ReadRange(5, func(p []byte) { s += string(p) })
			return s, err
		}},
		{"Read", func(r *sluice.BufReader) (string, error) {
			p := make([]byte, 10)
			n, err := r.Read(p)
			return string(p[:n]), err
		}},
		{"ReadSlice", func(r *sluice.BufReader) (string, error) { p, err := r.ReadSlice('e'); return string(p), err }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := readerOf(t, paranoid(t), 0, replies(reply{"abcde", errSource}, reply{"fghie", nil}))
			if s, err := c.call(r); s != "abcde" || err != nil {
				t.Fatalf("first call: %q, %v", s, err)
			}
			if s, err := c.call(r); s != "" || err != errSource {
				t.Fatalf("second call: %q, %v, want the error", s, err)
			}
			// The error is returned once, then the source is read again.
			if s, err := c.call(r); s != "fghie" || err != nil {
				t.Fatalf("third call: %q, %v", s, err)
			}
			if s, err := c.call(r); s != "" || err != io.EOF {
				t.Fatalf("fourth call: %q, %v", s, err)
			}
		})
	}
}

func TestNegativeCountsAreAnErrorAndConsumeNothing(t *testing.T) {
	for _, c := range []struct {
		name string
		call func(r *sluice.BufReader, n int) error
	}{
		{"Next", func(r *sluice.BufReader, n int) error { _, err := r.Next(n); return err }},
		{"Peek", func(r *sluice.BufReader, n int) error { _, err := r.Peek(n); return err }},
		{"Discard", func(r *sluice.BufReader, n int) error { _, err := r.Discard(n); return err }},
		{"Skip", func(r *sluice.BufReader, n int) error { return r.Skip(n) }},
		{"ReadBuf", func(r *sluice.BufReader, n int) error { _, err := r.ReadBuf(n); return err }},
		{"ReadBytes", func(r *sluice.BufReader, n int) error { _, err := r.ReadBytes(n); return err }},
		{"ReadRange", func(r *sluice.BufReader, n int) error {
			return r.ReadRange(n, func([]byte) { t.Error("yield was called") })
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, n := range []int{-1, -1 << 31, -int(^uint(0)>>1) - 1} {
				r := readerOf(t, paranoid(t), 0, strings.NewReader("abc"))
				for range 2 { // before and after there is something
					if err := c.call(r, n); !errors.Is(err, bufio.ErrNegativeCount) {
						t.Errorf("%d: %v", n, err)
					}
					_, _ = r.Peek(2)
				}
				if p, err := r.Next(3); string(p) != "abc" || err != nil {
					t.Errorf("after it: %q, %v", p, err)
				}
			}
		})
	}
}

func TestReaderThatGivesNothingForEverIsNoProgress(t *testing.T) {
	for _, bufLen := range []int{0, 16} {
		reads := 0
		r := readerOf(t, paranoid(t), bufLen, readerFunc(func([]byte) (int, error) {
			reads++
			return 0, nil
		}))
		if _, err := r.ReadByte(); err != io.ErrNoProgress {
			t.Errorf("BufLen %d: %v, want %v", bufLen, err, io.ErrNoProgress)
		}
		if reads != 100 {
			t.Errorf("BufLen %d: %d reads of nothing", bufLen, reads)
		}
		if _, err := r.Next(100_000); err != io.ErrNoProgress {
			t.Errorf("BufLen %d: %v of a frame of many blocks, want %v", bufLen, err, io.ErrNoProgress)
		}
	}
}

func TestReaderThatGivesNothingForAWhileIsReadAgain(t *testing.T) {
	turn := 0
	r := readerOf(t, paranoid(t), 0, readerFunc(func(p []byte) (int, error) {
		if turn++; turn%100 != 0 {
			return 0, nil
		}
		return copy(p, "x"), nil
	}))
	if p, err := r.Next(5); string(p) != "xxxxx" || err != nil {
		t.Errorf("%q, %v", p, err)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestReaderThatLiesAboutItsCountPanics(t *testing.T) {
	for _, n := range []int{-1, 1 << 20, -1 << 30} {
		for _, call := range []func(r *sluice.BufReader){
			func(r *sluice.BufReader) { _, _ = r.ReadByte() },
			func(r *sluice.BufReader) { _, _ = r.ReadBytes(200_000) },
		} {
			r := readerOf(t, mem.New(mem.Options{}), 0, readerFunc(func([]byte) (int, error) { return n, nil }))
			text := panicOf(func() { call(r) })
			if !strings.Contains(text, "sluice: ") || !strings.Contains(text, fmt.Sprint(n)) {
				t.Errorf("a count of %d: panic %q", n, text)
			}
		}
	}
}

// TestCallsAgreeWithBufio runs the calls that both have on a bufio.Reader
// whose buffer holds everything, and on ours.
func TestCallsAgreeWithBufio(t *testing.T) {
	seed := sluicetest.Seed(t)
	for run := range 60 {
		rng := rand.New(rand.NewPCG(seed, uint64(run)))
		data := modelData(rng, 1+rng.IntN(20_000))
		most := 1 + rng.IntN(3000)
		source := func() io.Reader {
			lengths := rand.New(rand.NewPCG(seed, uint64(run)+1<<32))
			return &pieces{data: data, next: func() int { return 1 + lengths.IntN(most) }}
		}
		theirs := bufio.NewReaderSize(source(), 1<<16)
		ours := readerOf(t, paranoid(t), []int{0, 16, 100, 4096}[rng.IntN(4)], source())
		var log []string
		for range 300 {
			n := rng.IntN(1 + rng.IntN(400))
			delim := data[rng.IntN(len(data))]
			var a, b []byte
			var k, l int
			var errA, errB error
			switch op := rng.IntN(6); op {
			case 0:
				log = append(log, fmt.Sprintf("Peek(%d)", n))
				a, errA = theirs.Peek(n)
				b, errB = ours.Peek(n)
			case 1:
				n++
				log = append(log, fmt.Sprintf("Discard(%d)", n))
				k, errA = theirs.Discard(n)
				l, errB = ours.Discard(n)
			case 2:
				log = append(log, "ReadByte")
				var c, d byte
				c, errA = theirs.ReadByte()
				d, errB = ours.ReadByte()
				k, l = int(c), int(d)
			case 3:
				log = append(log, "UnreadByte")
				errA, errB = theirs.UnreadByte(), ours.UnreadByte()
			case 4:
				log = append(log, fmt.Sprintf("ReadSlice(%#x)", delim))
				a, errA = theirs.ReadSlice(delim)
				b, errB = ours.ReadSlice(delim)
			case 5:
				log = append(log, fmt.Sprintf("ReadFull(%d)", n))
				a, b = make([]byte, n), make([]byte, n)
				k, errA = io.ReadFull(theirs, a)
				l, errB = io.ReadFull(ours, b)
			}
			if !bytes.Equal(a, b) || k != l || errA != errB {
				t.Fatalf("run %d: after %v: bufio %q, %d, %v; ours %q, %d, %v", run, log[max(0, len(log)-20):], a, k, errA, b, l, errB)
			}
		}
	}
}
