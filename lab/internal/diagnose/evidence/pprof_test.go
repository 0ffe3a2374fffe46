package evidence

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/pprof/profile"
)

// recorded returns a file of testdata. They are what real tools wrote of the tiny
// scenario, tiny.trace of a program with one lock, and strace-net.txt and
// strace-plain.txt of two sockets talking.
func recorded(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func recordedPprof(t *testing.T, name string) *profile.Profile {
	t.Helper()
	p, err := readPprof(iotest.OneByteReader(bytes.NewReader(recorded(t, name))))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// share is how much of a profile has a function in its stack.
func share(p *Profile, name string) float64 {
	var sum int64
	for _, s := range p.Stacks {
		if slices.ContainsFunc(s.Frames, func(f Frame) bool { return strings.HasSuffix(f.Func, name) }) {
			sum += s.Value
		}
	}
	return float64(sum) / float64(p.Total)
}

func TestProfilesGoWhereTheyBelong(t *testing.T) {
	var e Evidence
	for name, want := range map[string]string{"cpu.pprof": ToolCPU, "allocs.pprof": ToolAllocs, "mutex.pprof": ToolLocks, "block.pprof": ToolLocks} {
		if tool, err := e.takePprof(recordedPprof(t, name), name == "mutex.pprof"); err != nil || tool != want {
			t.Errorf("%s is of %s: %v", name, tool, err)
		}
	}
	if e.CPU.Unit != "ns" || e.CPU.Total <= 0 || e.CPU.Total%10_000_000 != 0 {
		t.Errorf("%d %s: not a number of samples of 10 ms", e.CPU.Total, e.CPU.Unit)
	}
	if s := share(e.CPU, "evidence.allocator.Run"); s < 0.2 {
		t.Errorf("%.0f %% in the function that was busy", 100*s)
	}
	// Frames reach down to where the goroutine began, and inlined calls are there.
	for _, s := range e.CPU.Stacks {
		if last := s.Frames[len(s.Frames)-1].Func; strings.HasSuffix(s.Frames[0].Func, "allocator.Run") && last != "runtime.main" {
			t.Errorf("a stack ends in %s", last)
		}
	}
	// Slices of 1,000 bytes are 1,024 in the allocator.
	objects := int64(0)
	for _, s := range e.Space.Stacks {
		objects += s.Count
	}
	if each := float64(e.Space.Total) / float64(objects); e.Space.Unit != "B" || each < 500 || each > 1100 {
		t.Errorf("%.0f bytes each", each)
	}
	for _, p := range []*Profile{e.Mutex, e.Block} {
		if share(p, "evidence.(*lockers).locked") < 0.5 || p.Stacks[0].Count == 0 {
			t.Errorf("%+v", p)
		}
	}
}

func TestAProfileOfAnotherKindIsRefused(t *testing.T) {
	p := recordedPprof(t, "mutex.pprof")
	for _, st := range p.SampleType {
		st.Type = "sheep"
	}
	if _, err := new(Evidence).takePprof(p, false); err == nil || !strings.Contains(err.Error(), "sheep") {
		t.Errorf("the error does not say what the profile has: %v", err)
	}
}

func packed(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestHostileProfilesAreErrors(t *testing.T) {
	t.Parallel()
	real := recorded(t, "cpu.pprof")
	for name, data := range map[string][]byte{
		"HTML":            []byte("<html>not found</html>"),
		"cut off":         real[:len(real)/2],
		"a bomb":          bytes.Repeat(packed(t, make([]byte, 1<<20)), maxPprof>>20+1), // gzip joins its parts
		"a claimed gift":  {0x12, 0xff, 0xff, 0xff, 0xff, 0x7f},
		"an empty sample": {0x12, 0},
	} {
		p, err := readPprof(bytes.NewReader(data))
		if err == nil {
			t.Errorf("%s: %v", name, p)
		}
		if big := name == "a bomb"; big != errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := readPprof(iotest.ErrReader(io.ErrClosedPipe)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a reader's error became %v", err)
	}
}

func FuzzPprof(f *testing.F) {
	for _, name := range []string{"mutex.pprof", "block.pprof"} {
		data := recorded(f, name)
		f.Add(data)
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			f.Fatal(err)
		}
		plain, err := io.ReadAll(z)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(plain)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := readPprof(bytes.NewReader(data))
		if err != nil {
			return
		}
		for _, st := range p.SampleType {
			out, err := pprofOf(p, st.Type, st.Type, "ns")
			if err != nil {
				t.Fatal(err)
			}
			checkProfile(t, out)
		}
	})
}

// checkProfile asserts what every Profile promises.
func checkProfile(t *testing.T, p *Profile) {
	t.Helper()
	var sum int64
	for i, s := range p.Stacks {
		if s.Value <= 0 || s.Count < 0 || len(s.Frames) > deepest+1 {
			t.Fatalf("stack %d: %+v", i, s)
		}
		sum = plus(sum, s.Value)
	}
	if sum != p.Total || len(p.Stacks) > keptStacks+1 {
		t.Fatalf("%d stacks have %d, the total is %d", len(p.Stacks), sum, p.Total)
	}
}
