package sluice_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-go/sluice"
)

func TestChanViewsSlicesWhereTheyAre(t *testing.T) {
	r := sluice.NewBufReaderChan(2)
	defer r.Recycle()
	first, second := []byte("first slice"), []byte("second slice")
	r.Mouth <- first
	if err := r.Feed(second); err != nil {
		t.Fatal(err)
	}
	p, err := r.Next(len(first))
	if err != nil || &p[0] != &first[0] {
		t.Errorf("Next has copied: %q, %v", p, err)
	}
	b, err := r.ReadBuf(len(second))
	if err != nil || &b.Bytes()[0] != &second[0] {
		t.Errorf("ReadBuf has copied: %v", err)
	}
	r.Recycle()
	if string(b.Bytes()) != "second slice" {
		t.Errorf("after Recycle the Buf is %q", b.Bytes())
	}
	b.Release()
}

func TestChanMemoryIsOfTheSlicesThemselves(t *testing.T) {
	r := sluice.NewBufReaderChan(10)
	defer r.Recycle()
	var slices [][]byte
	for i := range 10 {
		p := bytes.Repeat([]byte{byte(i)}, 10_000)
		slices = append(slices, p)
		r.Mouth <- p
	}
	if err := r.Skip(5000); err != nil {
		t.Fatal(err)
	}
	m, err := r.ReadBytes(90_000)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Buffers) != 10 || &m.Buffers[0][0] != &slices[0][5000] || &m.Buffers[9][0] != &slices[9][0] || len(m.Buffers[9]) != 5000 {
		t.Errorf("%d parts, not those that were fed", len(m.Buffers))
	}
	m.Release()
	if p, err := r.Next(5000); err != nil || p[0] != 9 {
		t.Errorf("the rest: %d bytes, %v", len(p), err)
	}
}

func TestChanOfANegativeLengthPanics(t *testing.T) {
	if text := panicOf(func() { sluice.NewBufReaderChan(-1) }); text != "sluice: NewBufReaderChan(-1), 0 to 134217728 are possible" {
		t.Errorf("panic %q", text)
	}
}

func TestClosedMouthIsTheEnd(t *testing.T) {
	r := sluice.NewBufReaderChan(1)
	defer r.Recycle()
	r.Mouth <- []byte("abc")
	close(r.Mouth)
	if _, err := r.Next(4); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("inside: %v", err)
	}
	if p, err := r.Next(3); string(p) != "abc" || err != nil {
		t.Errorf("%q, %v", p, err)
	}
	for range 2 {
		if _, err := r.ReadByte(); err != io.EOF {
			t.Errorf("at the end: %v", err)
		}
	}
}

func TestEmptySlicesAreNoEnd(t *testing.T) {
	r := sluice.NewBufReaderChan(5)
	defer r.Recycle()
	for _, p := range [][]byte{nil, {}, []byte("a"), nil, []byte("b")} {
		if err := r.Feed(p); err != nil {
			t.Fatal(err)
		}
	}
	mustReadByte(t, r, 'a')
	mustReadByte(t, r, 'b')
}

func TestFeedAfterRecycleIsErrClosed(t *testing.T) {
	for _, room := range []int{0, 1, 100} {
		r := sluice.NewBufReaderChan(room)
		r.Recycle()
		for range 3 {
			if err := r.Feed([]byte("x")); err != sluice.ErrClosed {
				t.Errorf("room for %d: %v", room, err)
			}
		}
		if _, err := r.ReadByte(); err != sluice.ErrClosed {
			t.Errorf("room for %d: ReadByte: %v", room, err)
		}
	}
}

func TestRecycleReleasesAFeedThatWaits(t *testing.T) {
	for _, end := range []struct {
		name string
		call func(r *sluice.BufReader)
	}{
		{"Recycle", func(r *sluice.BufReader) { r.Recycle() }},
		{"Reset", func(r *sluice.BufReader) { r.Reset(strings.NewReader("")) }},
		{"Detach", func(r *sluice.BufReader) {
			rest, _ := r.Detach()
			rest.Release()
		}},
	} {
		r := sluice.NewBufReaderChan(1)
		done := make(chan error, 1)
		go func() {
			for {
				if err := r.Feed([]byte("x")); err != nil {
					done <- err
					return
				}
			}
		}()
		untilParked(t, "(*BufReader).Feed")
		end.call(r)
		var err error
		within(t, "Feed", func() { err = <-done })
		if err != sluice.ErrClosed {
			t.Errorf("after %s: %v", end.name, err)
		}
	}
}

func TestFeedByManyGoroutines(t *testing.T) {
	r := sluice.NewBufReaderChan(3)
	defer r.Recycle()
	const feeders, each = 8, 500
	var group sync.WaitGroup
	for i := range feeders {
		group.Go(func() {
			for range each {
				if err := r.Feed(bytes.Repeat([]byte{byte(i)}, 4)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var seen [feeders]int
	for range feeders * each {
		p, err := r.Next(4)
		if err != nil || p[0] != p[3] {
			t.Fatalf("%v, %v", p, err)
		}
		seen[p[0]]++
	}
	group.Wait()
	for i, n := range seen {
		if n != each {
			t.Errorf("%d slices of feeder %d", n, i)
		}
	}
}

func TestResetLeavesTheChannel(t *testing.T) {
	r := sluice.NewBufReaderChan(1)
	r.Reset(strings.NewReader("other"))
	defer r.Recycle()
	if r.Mouth != nil {
		t.Error("Mouth has outlived Reset")
	}
	if p, err := io.ReadAll(r); string(p) != "other" || err != nil {
		t.Errorf("%q, %v", p, err)
	}
	if text := panicOf(func() { _ = r.Feed([]byte("x")) }); !strings.Contains(text, "Feed") {
		t.Errorf("Feed of a reader of something else: panic %q", text)
	}
}
