package sluice_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/invariant"
	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/mem"
)

// A header that is fed in single bytes, and asked for after each, is as one that is there at once; with a
// caller's mark, too, and a line before it.
func TestMIMEHeaderThatIsFedByteByByte(t *testing.T) {
	const first = "GET / HTTP/1.1\r\n"
	for i, h := range headers {
		want, wantErr := readerOf(t, paranoid(t), 0, strings.NewReader(h.text)).ReadMIMEHeader()
		for _, before := range []string{"", first} {
			a := paranoid(t)
			r := fedReader(t, a)
			read := func() (map[string][]string, error) {
				if before == "" {
					return r.ReadMIMEHeader()
				}
				r.Mark()
				if _, err := r.ReadLine(); err != nil {
					r.Rollback()
					return nil, err
				}
				got, err := r.ReadMIMEHeader()
				if err != nil {
					r.Rollback()
					return nil, err
				}
				r.Unmark()
				return got, nil
			}
			got, err := read()
			text := before + h.text
			for n := 0; errors.Is(err, sluice.ErrShort); n++ {
				if n == len(text) {
					r.FeedEnd(nil)
				} else if err := feed(r, a, i%3, []byte(text[n:n+1])); err != nil {
					t.Fatal(err)
				}
				got, err = read()
			}
			if len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, map[string][]string(want)) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Fatalf("%q after %q: %q, %v; want %q, %v", h.text, before, got, err, want, wantErr)
			}
		}
	}
}

// What was read of a header is forgotten where another begins: after a part was skipped, and after Reset.
func TestMIMEHeaderThatIsGivenUp(t *testing.T) {
	r := fedReader(t, paranoid(t))
	for _, skip := range []func() error{
		func() error { return r.Skip(len("A: 1\r\n")) },
		func() error { r.Reset(nil); return r.FeedCopy([]byte("B: 2\r\n")) },
	} {
		if err := r.FeedCopy([]byte("A: 1\r\nB: 2\r\n")); err != nil {
			t.Fatal(err)
		}
		if _, err := r.ReadMIMEHeader(); !errors.Is(err, sluice.ErrShort) {
			t.Fatal(err)
		}
		if err := skip(); err != nil {
			t.Fatal(err)
		}
		if err := r.FeedCopy([]byte("\r\n")); err != nil {
			t.Fatal(err)
		}
		if h, err := r.ReadMIMEHeader(); err != nil || len(h) != 1 || h.Get("B") != "2" {
			t.Errorf("%q, %v", h, err)
		}
	}
	// A limit that is raised lets the same line in.
	r.Reset(nil)
	r.SetLimits(sluice.Options{Header: 20})
	if err := r.FeedCopy([]byte("A: 1\r\nB: 2345678901234567890\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := r.ReadMIMEHeader(); !errors.Is(err, sluice.ErrTooLong) {
			t.Errorf("a header beyond the limit: %v", err)
		}
	}
	r.SetLimits(sluice.Options{Header: 200})
	if h, err := r.ReadMIMEHeader(); err != nil || len(h) != 2 {
		t.Errorf("%q, %v", h, err)
	}
}

// A peer that sends a header in single bytes must not make the loop that reads it parse it again for each.
func TestMIMEHeaderInSingleBytesCostsLittle(t *testing.T) {
	if sys.Race || invariant.Enabled {
		t.Skip("the checks of this build allocate")
	}
	text := strings.Repeat("K: v\r\n", 900) + "\r\n"
	r := fedReader(t, mem.New(mem.Options{}))
	got := allocated(func() {
		for i := range len(text) {
			if err := r.FeedCopy([]byte{text[i]}); err != nil {
				t.Fatal(err)
			}
			if _, err := r.ReadMIMEHeader(); (err == nil) != (i == len(text)-1) {
				t.Fatal(i, err)
			}
		}
	})
	if got > 2<<20 {
		t.Errorf("%d bytes were allocated for a header of %d", got, len(text))
	}
}

// What a search has passed without success is known for that delimiter and that place alone.
func TestSearchesOfAFedReaderFindTheFirst(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 0))
	a := paranoid(t)
	r := fedReader(t, a)
	var model []byte
	for step := range 20_000 {
		switch rng.IntN(4) {
		case 0:
			p := bytes.Repeat([]byte("x"), rng.IntN(4))
			for range rng.IntN(3) {
				p = append(p, "abx"[rng.IntN(3)])
			}
			model = append(model, p...)
			if err := feed(r, a, rng.IntN(3), p); err != nil {
				t.Fatal(err)
			}
		case 1:
			n := rng.IntN(3)
			if n <= len(model) && n > 0 {
				model = model[n:]
				if err := r.Skip(n); err != nil {
					t.Fatal(err)
				}
			}
		default:
			delim := "ab\n"[rng.IntN(3)]
			n := bytes.IndexByte(model, delim) + 1
			got, err := r.ReadSlice(delim)
			if n == 0 && !errors.Is(err, sluice.ErrShort) || n > 0 && (err != nil || !bytes.Equal(got, model[:n])) {
				t.Fatalf("seed %d, step %d: ReadSlice(%q) of %q: %q, %v", seed, step, delim, model, got, err)
			}
			model = model[n:]
		}
	}
	r.FeedEnd(nil)
	if rest, err := io.ReadAll(r); err != nil || !bytes.Equal(rest, model) {
		t.Errorf("seed %d: %q is left, want %q, %v", seed, rest, model, err)
	}
}
