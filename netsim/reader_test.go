package netsim_test

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/sluice-go/sluice/internal/sys"
	"github.com/sluice-go/sluice/netsim"
)

// pattern is n bytes whose every stretch says where it lies.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16*7)
	}
	return b
}

// eager returns the end together with the last bytes. It is
// iotest.DataErrReader, which an empty Read sends into an endless loop.
type eager struct {
	r    io.Reader
	rest []byte
	done bool
}

func (e *eager) Read(p []byte) (int, error) {
	if !e.done {
		e.rest, _ = io.ReadAll(e.r)
		e.done = true
	}
	n := copy(p, e.rest)
	if e.rest = e.rest[n:]; len(e.rest) == 0 {
		return n, io.EOF
	}
	return n, nil
}

func TestReaderConformsOverEveryConditionAndChunking(t *testing.T) {
	chunkings := map[string]func(io.Reader) io.Reader{
		"whole":       func(r io.Reader) io.Reader { return r },
		"one byte":    iotest.OneByteReader,
		"half":        iotest.HalfReader,
		"data+error":  func(r io.Reader) io.Reader { return &eager{r: r} },
		"netsim":      func(r io.Reader) io.Reader { return netsim.NewReader(r, netsim.Worst, 9) },
		"buffer only": func(r io.Reader) io.Reader { return struct{ io.Reader }{r} },
	}
	for name, chunk := range chunkings {
		for _, c := range netsim.Conditions() {
			for _, n := range []int{0, 1, 127, 4096, 20000} {
				data := pattern(n)
				if err := iotest.TestReader(netsim.NewReader(chunk(bytes.NewReader(data)), c, 1), data); err != nil {
					t.Errorf("%s, %s, %d bytes: %v", name, c.Name, n, err)
				}
			}
		}
	}
}

func TestReadReturnsExactlyTheNextSize(t *testing.T) {
	for _, c := range netsim.Conditions() {
		table := netsim.Draw(c, 11)
		r := netsim.NewReader(netsim.NewLoop(pattern(1000), -1), c, 11)
		p := make([]byte, 64<<10)
		for i := range uint(3 * netsim.TableLen) {
			n, err := r.Read(p)
			if n != table.Size(i) || err != nil {
				t.Fatalf("%s: Read %d returned %d, %v, want %d", c.Name, i, n, err, table.Size(i))
			}
		}
	}
}

func TestReadIsBoundedByItsArgument(t *testing.T) {
	r := netsim.NewReader(netsim.NewLoop(pattern(1000), -1), netsim.Good, 1)
	for _, room := range []int{1, 100, 1023, 0} {
		if n, err := r.Read(make([]byte, room)); n != room || err != nil {
			t.Errorf("Read into %d bytes returned %d, %v", room, n, err)
		}
	}
}

// script returns what it was given, one result per Read.
type script []struct {
	n   int
	err error
}

func (s *script) Read(p []byte) (int, error) {
	r := (*s)[0]
	*s = (*s)[1:]
	return r.n, r.err
}

func TestReaderPassesResultsOnUnchanged(t *testing.T) {
	broken := errors.New("broken")
	results := script{{3, nil}, {0, nil}, {2, broken}, {0, iotest.ErrTimeout}, {1, io.EOF}, {0, io.EOF}}
	src := append(script(nil), results...)
	r := netsim.NewReader(&src, netsim.Good, 1)
	for i, want := range results {
		if n, err := r.Read(make([]byte, 100)); n != want.n || err != want.err {
			t.Errorf("Read %d returned %d, %v, want %d, %v", i, n, err, want.n, want.err)
		}
	}
}

func TestResetBeginsTheTableAgain(t *testing.T) {
	table := netsim.Draw(netsim.Normal, 5)
	r := table.Reader(netsim.NewLoop(pattern(10), -1), 1234)
	p := make([]byte, 4096)
	if n, _ := r.Read(p); n != table.Size(1234) {
		t.Fatalf("the first Read returned %d, want size 1234, which is %d", n, table.Size(1234))
	}
	r.Reset(bytes.NewReader(make([]byte, 10000)))
	for i := range uint(2) {
		if n, _ := r.Read(p); n != table.Size(i) {
			t.Fatalf("Read %d after Reset returned %d, want %d", i, n, table.Size(i))
		}
	}
}

func TestReadersShareATable(t *testing.T) {
	table := netsim.Draw(netsim.Worst, 2)
	data := pattern(100000)
	var wg sync.WaitGroup
	for g := range uint(4) {
		wg.Go(func() {
			got, err := io.ReadAll(table.Reader(bytes.NewReader(data), g*1000))
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("reader %d returned %d bytes and %v", g, len(got), err)
			}
		})
	}
	wg.Wait()
}

func TestReadAllocatesNothing(t *testing.T) {
	if sys.Race {
		t.Skip("counts differ under the race detector")
	}
	r := netsim.NewReader(netsim.NewLoop(pattern(1000), -1), netsim.Good, 1)
	p := make([]byte, 64<<10)
	if n := testing.AllocsPerRun(1000, func() { r.Read(p) }); n != 0 {
		t.Fatalf("Read allocates %v times", n)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(uint64(1), 1, 128, 64, []byte("some bytes"))
	f.Add(uint64(2), 5, 5, 1000, pattern(3000))
	f.Fuzz(func(t *testing.T, seed uint64, least, most, room int, data []byte) {
		least = 1 + least&0xffff%netsim.MaxRead
		most = min(least+most&0xffff, netsim.MaxRead)
		p := make([]byte, 1+room&0xffff)
		c := netsim.Condition{Name: "fuzzed", Min: least, Max: most}
		r, table := netsim.NewReader(bytes.NewReader(data), c, seed), netsim.Draw(c, seed)
		for i := uint(0); ; i++ {
			n, err := r.Read(p)
			if want := min(len(p), table.Size(i), len(data)); n != want || !bytes.Equal(p[:n], data[:n]) {
				t.Fatalf("Read %d returned %d bytes, want the next %d", i, n, want)
			}
			data = data[n:]
			if err == io.EOF && len(data) == 0 {
				return
			}
			if err != nil {
				t.Fatalf("Read %d: %v with %d bytes to come", i, err, len(data))
			}
		}
	})
}
