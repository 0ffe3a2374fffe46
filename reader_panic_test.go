package sluice_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// panicky is a source that panics in its Read number at, instead of giving
// bytes; the bytes come with the next Read.
type panicky struct {
	src   io.Reader
	at    int
	reads int
}

var errPanicky = errors.New("the source panicked")

func (s *panicky) Read(p []byte) (int, error) {
	if s.reads++; s.reads == s.at {
		// What is written into the room and not returned is not read.
		for i := range p {
			p[i] = 'P'
		}
		panic(errPanicky)
	}
	return s.src.Read(p)
}

// recovered calls f and returns its error, or the panic of a panicky source.
func recovered(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if p != any(errPanicky) {
				panic(p)
			}
			err = errPanicky
		}
	}()
	return f()
}

// TestSourceThatPanicsLosesNothing: each run panics at another Read (at some
// only, when there are many), in every call; the caller recovers and calls again.
func TestSourceThatPanicsLosesNothing(t *testing.T) {
	for _, c := range repeatable {
		for _, piece := range []int{3, 1000, 30_000} {
			if len(c.text)/piece > 500 {
				continue
			}
			for _, bufLen := range []int{0, 16} {
				for _, budget := range []int64{0, 1 << 20} {
					if bufLen > 0 && (budget > 0 || len(c.text) > 1000) {
						continue
					}
					t.Run(fmt.Sprintf("%s/%d/BufLen %d/budget %d", c.name, piece, bufLen, budget), func(t *testing.T) {
						a := watched(t, budget)
						for at, done := 1, false; !done; at += 1 + at/4 {
							src := &panicky{src: &pieces{data: []byte("?" + c.text + "tail"), next: every(piece)}, at: at}
							r := readerOf(t, a, bufLen, src)
							var got string
							if err := recovered(func() error { return r.Skip(1) }); err != nil {
								if err = r.Skip(1); err != nil {
									t.Fatal(err)
								}
							}
							err := recovered(func() (err error) { got, err = c.call(r); return })
							if err == errPanicky {
								if used := r.TotalRead() - int64(r.Buffered()); used != 1 {
									t.Fatalf("panic in read %d: %d bytes are consumed", at, used)
								}
								got, err = c.call(r)
							}
							done = src.reads < at
							if err != nil || got != c.want {
								t.Fatalf("panic in read %d: %.40q, %v", at, got, err)
							}
							if rest, err := io.ReadAll(&recovering{r}); string(rest) != "tail" || err != nil {
								t.Fatalf("panic in read %d: then %.40q, %v", at, rest, err)
							}
							r.Recycle()
						}
						if out := a.Stats().OutBytes; out != 0 {
							t.Errorf("%d bytes are checked out", out)
						}
					})
				}
			}
		}
	}
}

// recovering goes on after a panic of a panicky source.
type recovering struct{ r io.Reader }

func (s *recovering) Read(p []byte) (n int, err error) {
	err = recovered(func() (err error) { n, err = s.r.Read(p); return })
	if err == errPanicky {
		return 0, nil
	}
	return n, err
}

// TestStreamingCallsGoOnAfterAPanic: what they handed on stays handed on.
func TestStreamingCallsGoOnAfterAPanic(t *testing.T) {
	data := testData(50_000)
	for _, c := range []struct {
		name string
		call func(r *sluice.BufReader, to *bytes.Buffer, left int) error
	}{
		{"ReadRange", func(r *sluice.BufReader, to *bytes.Buffer, left int) error {
			return r.ReadRange(left, func(p []byte) { to.Write(p) })
		}},
		{"Skip", func(r *sluice.BufReader, to *bytes.Buffer, left int) error {
			before := r.TotalRead() - int64(r.Buffered())
			defer func() {
				done := r.TotalRead() - int64(r.Buffered()) - before
				to.Write(data[to.Len() : to.Len()+int(done)])
			}()
			return r.Skip(left)
		}},
		{"Read", func(r *sluice.BufReader, to *bytes.Buffer, _ int) error {
			_, err := to.ReadFrom(r)
			return err
		}},
		{"Read of much", func(r *sluice.BufReader, to *bytes.Buffer, _ int) error {
			p := make([]byte, 8192)
			for {
				n, err := r.Read(p)
				to.Write(p[:n])
				if err == io.EOF {
					return nil
				} else if err != nil {
					return err
				}
			}
		}},
		{"WriteTo", func(r *sluice.BufReader, to *bytes.Buffer, _ int) error {
			_, err := r.WriteTo(to)
			return err
		}},
	} {
		for at := 1; at <= 25; at++ {
			a := paranoid(t)
			src := &panicky{src: &pieces{data: data, next: every(3000)}, at: at}
			r := readerOf(t, a, 0, src)
			var to bytes.Buffer
			err := recovered(func() error { return c.call(r, &to, len(data)) })
			if err == errPanicky {
				err = c.call(r, &to, len(data)-to.Len())
			}
			if err != nil || !bytes.Equal(to.Bytes(), data) {
				t.Errorf("%s, panic in read %d: %d bytes, %v", c.name, at, to.Len(), err)
			}
			r.Recycle()
		}
	}
}

// TestReaderIsCleanAfterAPanic: what it was doing does not survive Reset.
func TestReaderIsCleanAfterAPanic(t *testing.T) {
	for _, c := range wanting {
		for _, recycle := range []bool{false, true} {
			for at := 1; at <= 4; at++ {
				for _, budget := range []int64{0, 1 << 20} {
					a := watched(t, budget)
					src := &panicky{src: &pieces{data: []byte(strings.Repeat("k:v", 100)), next: every(3)}, at: at}
					r := readerOf(t, a, 0, src)
					if err := recovered(func() error { return c.call(r, c.n) }); err != errPanicky {
						continue // it has not come so far
					}
					if recycle {
						r.Recycle()
						if out := a.Stats().OutBytes; out != 0 {
							t.Errorf("%s: %d bytes are checked out after Recycle", c.name, out)
						}
					}
					other := watched(t, 1<<20)
					r.Allocator = other
					const text = "A: b\r\n\r\nline\nnext"
					r.Reset(&pieces{data: []byte(text), next: every(1)})
					if out := a.Stats().OutBytes; out != 0 {
						t.Errorf("%s: %d bytes are checked out after Reset", c.name, out)
					}
					if r.TotalRead() != 0 || r.Buffered() != 0 {
						t.Errorf("%s: %d read, %d buffered", c.name, r.TotalRead(), r.Buffered())
					}
					refusesUnread(t, r, c.name)
					if panicOf(r.Rollback) == "" {
						t.Errorf("%s: a mark has outlived Reset", c.name)
					}
					// The limit of a mark holds, as it would not in a header.
					r.SetLimits(sluice.Options{Frame: 5})
					r.Mark()
					if _, err := r.Next(4); err != nil {
						t.Errorf("%s: %v", c.name, err)
					}
					if _, err := r.Next(5); !errors.Is(err, sluice.ErrTooLong) {
						t.Errorf("%s: the limit of a mark: %v", c.name, err)
					}
					r.Rollback()
					r.SetLimits(sluice.Options{})
					h, err := r.ReadMIMEHeader()
					if err != nil || h.Get("A") != "b" {
						t.Errorf("%s: %v, %v", c.name, h, err)
					}
					if line, err := r.ReadLine(); line != "line" || err != nil {
						t.Errorf("%s: %q, %v", c.name, line, err)
					}
					if p, err := r.Next(4); string(p) != "next" || err != nil {
						t.Errorf("%s: %q, %v", c.name, p, err)
					}
					r.Recycle()
				}
			}
		}
	}
}

// TestPanicOfAYieldLosesNothing: the function's, not the source's.
func TestPanicOfAYieldLosesNothing(t *testing.T) {
	data := testData(30_000)
	r := readerOf(t, paranoid(t), 0, &pieces{data: data, next: every(5000)})
	got := 0
	err := recovered(func() error {
		return r.ReadRange(len(data), func(p []byte) {
			if got += len(p); got > 8000 {
				panic(errPanicky)
			}
		})
	})
	if err != errPanicky || r.TotalRead()-int64(r.Buffered()) != int64(got) {
		t.Fatalf("%v; %d bytes were passed, %d consumed", err, got, r.TotalRead()-int64(r.Buffered()))
	}
	if p, err := r.Next(len(data) - got); err != nil || !bytes.Equal(p, data[got:]) {
		t.Errorf("%d bytes, %v", len(p), err)
	}
}

func TestReadRangeWithoutAFunctionPanics(t *testing.T) {
	for _, n := range []int{0, 1, 100} {
		for _, buffered := range []bool{false, true} {
			r := readerOf(t, paranoid(t), 0, strings.NewReader("abcdef"))
			if buffered {
				if _, err := r.Peek(1); err != nil {
					t.Fatal(err)
				}
			}
			if text := panicOf(func() { _ = r.ReadRange(n, nil) }); !strings.HasPrefix(text, "sluice: ") || !strings.Contains(text, "ReadRange") {
				t.Errorf("ReadRange(%d, nil): panic %q", n, text)
			}
			if p, err := r.Next(6); string(p) != "abcdef" || err != nil {
				t.Errorf("after it: %q, %v", p, err)
			}
		}
	}
}

// TestYieldThatUsesTheReaderPanics, in one piece and in many: what follows would be
// other bytes than those that were asked for.
func TestYieldThatUsesTheReaderPanics(t *testing.T) {
	data := testData(30_000)
	for name, use := range map[string]func(r *sluice.BufReader){
		"ReadByte": func(r *sluice.BufReader) { _, _ = r.ReadByte() },
		"Next":     func(r *sluice.BufReader) { _, _ = r.Next(10) },
		"Skip":     func(r *sluice.BufReader) { _ = r.Skip(9000) },
		"ReadBuf": func(r *sluice.BufReader) {
			if b, err := r.ReadBuf(7); err == nil {
				b.Release()
			}
		},
		"ReadRange": func(r *sluice.BufReader) { _ = r.ReadRange(5, func([]byte) {}) },
		"Recycle":   func(r *sluice.BufReader) { r.Recycle() },
		"Reset":     func(r *sluice.BufReader) { r.Reset(bytes.NewReader(data)) },
	} {
		for _, n := range []int{100, 20_000} {
			r := readerOf(t, paranoid(t), 0, &pieces{data: data, next: every(5000)})
			if _, err := r.Peek(1); err != nil {
				t.Fatal(err)
			}
			if text := panicOf(func() { _ = r.ReadRange(n, func([]byte) { use(r) }) }); !strings.Contains(text, "ReadRange") {
				t.Errorf("%s inside ReadRange(%d): panic %q", name, n, text)
			}
		}
	}
	r := readerOf(t, paranoid(t), 0, &pieces{data: data, next: every(5000)})
	if err := r.ReadRange(20_000, func([]byte) { _, _ = r.Buffered(), r.TotalRead() }); err != nil {
		t.Errorf("what reads nothing: %v", err)
	}
}

// TestSecondReleaseOfACopyPanics in ordinary builds, while others hold the
// frame, and harms none of them.
func TestSecondReleaseOfACopyPanics(t *testing.T) {
	for _, holders := range []int{1, 2, 3, 18, 64} {
		a := mem.New(mem.Options{})
		r := readerOf(t, a, 0, strings.NewReader("a frame, another"))
		held := make([]mem.Buf, holders)
		if err := r.ReadBufs(7, held); err != nil {
			t.Fatal(err)
		}
		for i := range held {
			again := held[i] //sluice:moved
			held[i].Release()
			if text := panicOf(again.Release); !strings.HasPrefix(text, "mem: ") {
				t.Errorf("%d holders: a copy was released again: %q", holders, text)
			}
			for k := i + 1; k < holders; k++ {
				if !held[k].Valid() || string(held[k].Bytes()) != "a frame" {
					t.Fatalf("%d holders: another one's reference is gone", holders)
				}
			}
		}
		r.Recycle()
		if out := a.Stats().OutBytes; out != 0 {
			t.Errorf("%d bytes are checked out", out)
		}
	}
}
