package netsim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sluice-go/sluice/internal/sys"
)

func repeated(data []byte, n int) []byte {
	if len(data) == 0 {
		return nil
	}
	return bytes.Repeat(data, n/len(data)+1)[:n]
}

func TestLoopConforms(t *testing.T) {
	for _, length := range []int{1, 2, 3, 10, 1000} {
		data := []byte(strings.Repeat("0123456789abc", 100))[:length]
		for _, n := range []int{0, 1, 2, 9, 10, 11, 999, 1000, 1001, 5000} {
			if err := iotest.TestReader(NewLoop(data, int64(n)), repeated(data, n)); err != nil {
				t.Errorf("%d bytes repeated for %d: %v", length, n, err)
			}
		}
	}
}

func TestLoopFillsWhateverItIsGiven(t *testing.T) {
	data := []byte("abcdefg")
	want := repeated(data, 1000)
	l := NewLoop(data, -1)
	at := 0
	for room := range 40 {
		p := make([]byte, room)
		if n, err := l.Read(p); n != room || err != nil {
			t.Fatalf("Read into %d bytes returned %d, %v", room, n, err)
		}
		if !bytes.Equal(p, want[at:at+room]) {
			t.Fatalf("Read into %d bytes at %d returned %q, want %q", room, at, p, want[at:at+room])
		}
		at += room
	}
}

func TestEndlessLoopOutlivesItsCounter(t *testing.T) {
	l := NewLoop([]byte("abc"), -1)
	l.left = 4
	for _, want := range []string{"abc", "abcab", "cabca"} {
		p := make([]byte, len(want))
		if n, err := l.Read(p); n != len(want) || err != nil || string(p) != want {
			t.Fatalf("Read returned %d, %v, %q, want %q", n, err, p, want)
		}
	}
}

func TestLoopEndStaysTheEnd(t *testing.T) {
	l := NewLoop([]byte("abc"), 7)
	for _, want := range []struct {
		n   int
		err error
	}{{5, nil}, {2, nil}, {0, io.EOF}, {0, io.EOF}} {
		if n, err := l.Read(make([]byte, 5)); n != want.n || err != want.err {
			t.Fatalf("Read returned %d, %v, want %d, %v", n, err, want.n, want.err)
		}
	}
	l.Reset()
	if b, err := io.ReadAll(l); string(b) != "abcabca" || err != nil {
		t.Fatalf("after Reset: %q, %v", b, err)
	}
}

func TestLoopOverNothing(t *testing.T) {
	for _, n := range []int64{-1, 1, 100} {
		func() {
			defer func() {
				got := fmt.Sprint(recover())
				if want := fmt.Sprintf("netsim: NewLoop: 0 bytes of data to be repeated for %d bytes", n); got != want {
					t.Errorf("NewLoop(nil, %d) panicked with %q, want %q", n, got, want)
				}
			}()
			NewLoop(nil, n)
		}()
	}
	l := NewLoop(nil, 0)
	if n, err := l.Read(nil); n != 0 || err != nil {
		t.Errorf("an empty Read returned %d, %v", n, err)
	}
	if n, err := l.Read(make([]byte, 9)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("Read returned %d, %v", n, err)
	}
}

func TestLoopAllocatesNothing(t *testing.T) {
	if sys.Race {
		t.Skip("counts differ under the race detector")
	}
	l := NewLoop([]byte("abcdefghijk"), -1)
	p := make([]byte, 1000)
	if n := testing.AllocsPerRun(1000, func() { l.Read(p) }); n != 0 {
		t.Fatalf("Read allocates %v times", n)
	}
}

func FuzzLoop(f *testing.F) {
	f.Add([]byte("abc"), uint16(100), []byte{1, 2, 3, 50, 0, 4})
	f.Add([]byte("x"), uint16(0), []byte{0, 1})
	f.Fuzz(func(t *testing.T, data []byte, n uint16, rooms []byte) {
		if len(data) == 0 {
			return
		}
		l := NewLoop(data, int64(n))
		left := repeated(data, int(n))
		for _, room := range rooms {
			p := make([]byte, room)
			got, err := l.Read(p)
			if want := min(len(p), len(left)); got != want || !bytes.Equal(p[:got], left[:got]) {
				t.Fatalf("Read into %d bytes with %d left returned %d: %q", len(p), len(left), got, p[:got])
			}
			if wantEOF := len(p) > 0 && len(left) == 0; (err == io.EOF) != wantEOF {
				t.Fatalf("Read into %d bytes with %d left returned error %v", len(p), len(left), err)
			}
			left = left[got:]
		}
	})
}
