package sluice_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

func TestRollbackReadsTheSameBytesAgain(t *testing.T) {
	seed := sluicetest.Seed(t)
	for _, s := range streams() {
		for _, span := range []int{0, 1, 100, 4096, 70_000, 150_000} {
			t.Run(fmt.Sprintf("%s/%d", s.name, span), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, uint64(span)))
				data := testData(200_000)
				r := s.open(t, paranoid(t), data, func() int { return 1 + rng.IntN(5000) })
				const before = 3000
				// Bytes that are held keep blocks from being filled anew.
				held, err := r.ReadBuf(before)
				if err != nil {
					t.Fatal(err)
				}
				for range 3 {
					r.Mark()
					got := make([]byte, span)
					if _, err := io.ReadFull(r, got); err != nil && span > 0 {
						t.Fatal(err)
					}
					if !bytes.Equal(got, data[before:before+span]) {
						t.Fatal("other bytes")
					}
					r.Rollback()
				}
				if r.TotalRead()-int64(r.Buffered()) != before {
					t.Fatalf("%d bytes read, %d buffered", r.TotalRead(), r.Buffered())
				}
				rest, err := io.ReadAll(r)
				if err != nil || !bytes.Equal(rest, data[before:]) {
					t.Fatalf("the rest: %d bytes, %v", len(rest), err)
				}
				if !bytes.Equal(held.Bytes(), data[:before]) {
					t.Error("bytes that are held have changed")
				}
				held.Release()
			})
		}
	}
}

func TestRollbackAfterAWaitThatLeftASharedBlock(t *testing.T) {
	for _, pair := range []string{"tcp", "unix"} {
		t.Run(pair, func(t *testing.T) {
			near, far := streamPair(t, pair)
			r := readerOf(t, paranoid(t), 0, near)
			write(t, far, "held|")
			held, err := r.ReadBuf(5)
			if err != nil {
				t.Fatal(err)
			}
			// The reader waits with an empty window in a block that held keeps.
			r.Mark()
			goTest(t, func() { write(t, far, "after") })
			if p, err := r.Next(5); string(p) != "after" || err != nil {
				t.Fatalf("%q, %v", p, err)
			}
			r.Rollback()
			if p, err := r.Next(5); string(p) != "after" || err != nil {
				t.Fatalf("after Rollback: %q, %v", p, err)
			}
			if string(held.Bytes()) != "held|" {
				t.Errorf("what is held is now %q", held.Bytes())
			}
			held.Release()
		})
	}
}

func TestSecondMarkMovesTheMark(t *testing.T) {
	r := readerOf(t, paranoid(t), 16, strings.NewReader("abcdefghijklmnopqrstuvwxyz"))
	r.Mark()
	_ = r.Skip(3)
	r.Mark()
	_ = r.Skip(20)
	r.Rollback()
	mustReadByte(t, r, 'd')
}

func TestRollbackWithoutMarkPanics(t *testing.T) {
	r := readerOf(t, paranoid(t), 0, strings.NewReader("abc"))
	for _, before := range []func(){
		func() {},
		func() { r.Mark(); r.Unmark() },
		func() { r.Mark(); r.Rollback() },
		func() { r.Mark(); r.Reset(strings.NewReader("abc")) },
	} {
		before()
		if text := panicOf(r.Rollback); !strings.Contains(text, "sluice: ") {
			t.Errorf("panic %q", text)
		}
	}
}

func TestMarkHoldsNoMoreThanTheFrameLimit(t *testing.T) {
	const limit = 100_000
	for _, bufLen := range []int{0, 16} {
		a := paranoid(t)
		r := readerOf(t, a, bufLen, &pieces{data: testData(1 << 20), next: every(1000)})
		r.SetLimits(sluice.Options{Frame: limit})
		r.Mark()
		var err error
		n := 0
		for err == nil {
			if n%500 == 0 {
				if out := a.Stats().OutBytes; out > 4*limit {
					t.Fatalf("BufLen %d: %d bytes are checked out after %d", bufLen, out, n)
				}
			}
			if _, err = r.ReadByte(); err == nil {
				n++
			}
		}
		if !errors.Is(err, sluice.ErrTooLong) || n < limit/2 || n > 2*limit {
			t.Errorf("BufLen %d: %v after %d bytes", bufLen, err, n)
		}
		// The parser can give up its mark and go on, or go back.
		r.Rollback()
		if err := r.Skip(2 * limit); err != nil {
			t.Errorf("BufLen %d: after Rollback: %v", bufLen, err)
		}
	}
}

func TestHeaderMayBeLongerThanTheFrameLimit(t *testing.T) {
	r := readerOf(t, paranoid(t), 0, strings.NewReader(strings.Repeat("Key: "+strings.Repeat("v", 1000)+"\r\n", 100)+"\r\n"))
	r.SetLimits(sluice.Options{Frame: 2000})
	h, err := r.ReadMIMEHeader()
	if err != nil || len(h["Key"]) != 100 {
		t.Errorf("%d values, %v", len(h["Key"]), err)
	}
}

// TestMarkIsBoundedBehindAHeaderToo: only the header's own mark is not.
func TestMarkIsBoundedBehindAHeaderToo(t *testing.T) {
	text := "Key: value\r\n\r\n" + strings.Repeat("x", 1000)
	r := readerOf(t, paranoid(t), 0, &pieces{data: []byte(text), next: every(10)})
	r.SetLimits(sluice.Options{Frame: 100})
	if _, err := r.ReadMIMEHeader(); err != nil {
		t.Fatal(err)
	}
	r.Mark()
	if _, err := r.Next(60); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(60); !errors.Is(err, sluice.ErrTooLong) {
		t.Errorf("more than the limit behind a mark: %v", err)
	}
}

func TestUnmarkLetsGoWhatWasRead(t *testing.T) {
	a := paranoid(t)
	r := readerOf(t, a, 0, &pieces{data: testData(4 << 20), next: every(4096)})
	r.Mark()
	if err := r.Skip(1 << 20); err != nil {
		t.Fatal(err)
	}
	r.Unmark()
	if err := r.Skip(3 << 19); err != nil {
		t.Fatal(err)
	}
	if out := a.Stats().OutBytes; out > sluice.MaxBlock {
		t.Errorf("%d bytes are checked out", out)
	}
}

// splitMessage is what the parser below reads: a line, a number, as many bytes.
const splitMessage = "HELLO there\r\n\x00\x00\x00\x12eighteen bytes...z"

func parseMessage(r *sluice.BufReader) (string, error) {
	line, err := r.ReadLine()
	if err != nil {
		return "", err
	}
	n, err := r.ReadBE(4)
	if err != nil {
		return "", err
	}
	b, err := r.ReadBuf(n)
	if err != nil {
		return "", err
	}
	defer b.Release()
	return line + "|" + string(b.Bytes()), nil
}

func TestFedParserGoesBackAtEverySplit(t *testing.T) {
	text := strings.Repeat(splitMessage, 3)
	const want = "HELLO there|eighteen bytes...z"
	for split := 0; split <= len(text); split++ {
		for turn := range 3 {
			a := paranoid(t)
			r := sluice.NewBufReaderFed(sluice.Options{Allocator: a})
			var got []string
			for _, part := range []string{text[:split], text[split:]} {
				if len(part) == 0 {
					continue
				}
				if err := feed(r, a, turn, []byte(part)); err != nil {
					t.Fatal(err)
				}
				for {
					before := r.Buffered()
					r.Mark()
					s, err := parseMessage(r)
					if err == nil {
						r.Unmark()
						got = append(got, s)
						continue
					}
					if !errors.Is(err, sluice.ErrShort) {
						t.Fatalf("split at %d: %v", split, err)
					}
					r.Rollback()
					if r.Buffered() != before {
						t.Fatalf("split at %d: %d bytes are buffered, %d were", split, r.Buffered(), before)
					}
					break
				}
			}
			if len(got) != 3 || got[0] != want || got[1] != want || got[2] != want {
				t.Fatalf("split at %d: %q", split, got)
			}
			r.Recycle()
		}
	}
}

func TestFedParserByteByByte(t *testing.T) {
	for turn := range 3 {
		a := paranoid(t)
		r := sluice.NewBufReaderFed(sluice.Options{Allocator: a})
		messages := 0
		for i := range len(splitMessage) * 5 {
			if err := feed(r, a, turn, []byte{splitMessage[i%len(splitMessage)]}); err != nil {
				t.Fatal(err)
			}
			r.Mark()
			if _, err := parseMessage(r); err == nil {
				messages++
				r.Unmark()
			} else {
				r.Rollback()
			}
			if want := (i + 1) / len(splitMessage); messages != want {
				t.Fatalf("%d messages after %d bytes, want %d", messages, i+1, want)
			}
		}
		r.Recycle()
	}
}

func TestMarkOverManyBlocksIsNotMovedForEachRead(t *testing.T) {
	const size = 12 << 20
	for _, bufLen := range []int{0, 4096} {
		reads := 0
		src := readerFunc(func(p []byte) (int, error) {
			reads++
			clear(p)
			return len(p), nil
		})
		a := mem.New(mem.Options{})
		r := readerOf(t, a, bufLen, src)
		got := allocated(func() {
			r.Mark()
			if err := r.Skip(size); err != nil {
				t.Fatal(err)
			}
		})
		// Twice what is held each time it is moved: 2 + 1 + 1/2 ... times.
		if got > 5*size {
			t.Errorf("BufLen %d: %d bytes were allocated for %d", bufLen, got, size)
		}
		if most := size/4096 + 100; reads > most {
			t.Errorf("BufLen %d: %d reads, at most %d", bufLen, reads, most)
		}
		r.Rollback()
		if n := r.Buffered(); n < size {
			t.Errorf("BufLen %d: %d bytes after Rollback", bufLen, n)
		}
	}
}

func TestMarkOverManyFedPiecesIsNotMovedForEach(t *testing.T) {
	const size, piece = 12 << 20, 64 << 10
	r := fedReader(t, mem.New(mem.Options{}))
	for range size / piece {
		if err := r.Feed(make([]byte, piece)); err != nil {
			t.Fatal(err)
		}
	}
	got := allocated(func() {
		r.Mark()
		if err := r.Skip(size); err != nil {
			t.Fatal(err)
		}
	})
	if got > 5*size {
		t.Errorf("%d bytes were allocated for %d", got, size)
	}
}

func TestNoMemoryIsHeldBehindAMarkAtTheEnd(t *testing.T) {
	a := mem.New(mem.Options{Name: t.Name()})
	fed := sluice.NewBufReaderFed(sluice.Options{Allocator: a})
	defer fed.Recycle()
	for i, feed := range []func(p []byte) error{
		fed.FeedCopy,
		func(p []byte) error {
			b := a.Get(len(p))
			copy(b.Bytes(), p)
			return fed.FeedBuf(b)
		},
	} {
		if err := feed([]byte("\x03abc")); err != nil {
			t.Fatal(err)
		}
		frame, err := fed.ReadFrame(1, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		frame.Release()
		fed.Mark()
		if _, err := fed.ReadByte(); err != sluice.ErrShort {
			t.Fatal(err)
		}
		if n := a.Stats().CheckedOut; n != 0 {
			t.Errorf("%d: %d blocks are out with a mark and no byte behind it", i, n)
		}
		if err := feed([]byte("\x02d")); err != nil {
			t.Fatal(err)
		}
		if _, err := fed.ReadFrame(1, nil, 0); !errors.Is(err, sluice.ErrShort) {
			t.Fatal(err)
		}
		fed.Rollback()
		if err := feed([]byte("e")); err != nil {
			t.Fatal(err)
		}
		p, err := fed.Next(3)
		if string(p) != "\x02de" {
			t.Errorf("after Rollback: %q, %v", p, err)
		}
	}
}

func TestNoSliceIsHeldBehindAMarkAtTheEnd(t *testing.T) {
	r := sluice.NewBufReaderChan(1)
	defer r.Recycle()
	freed := make(chan struct{})
	p := make([]byte, 1<<16)
	runtime.AddCleanup(&p[0], func(struct{}) { close(freed) }, struct{}{})
	if err := r.Feed(p); err != nil {
		t.Fatal(err)
	}
	if err := r.Skip(len(p)); err != nil {
		t.Fatal(err)
	}
	p = nil
	r.Mark()
	if err := r.SetTimeout(time.Nanosecond); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadByte(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; runtime.GC() {
		select {
		case <-freed:
			return
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("the slice is held")
		}
	}
}
