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

func TestCPUProfile(t *testing.T) {
	p, err := cpuProfile(recordedPprof(t, "cpu.pprof"))
	if err != nil {
		t.Fatal(err)
	}
	if p.Unit != "ns" || p.Total <= 0 || p.Total%10_000_000 != 0 {
		t.Errorf("%d %s: not a number of samples of 10 ms", p.Total, p.Unit)
	}
	if s := share(p, "evidence.allocator.Run"); s < 0.2 {
		t.Errorf("%.0f %% in the function that was busy", 100*s)
	}
	// Frames reach down to where the goroutine began, and inlined calls are there.
	for _, s := range p.Stacks {
		if last := s.Frames[len(s.Frames)-1].Func; strings.HasSuffix(s.Frames[0].Func, "allocator.Run") && last != "runtime.main" {
			t.Errorf("a stack ends in %s", last)
		}
	}
}

func TestAllocationProfilesAreTheDifferenceOfTwo(t *testing.T) {
	before, after := recordedPprof(t, "allocs-before.pprof"), recordedPprof(t, "allocs.pprof")
	space, objects, err := allocProfiles(after, before)
	if err != nil {
		t.Fatal(err)
	}
	if space.Unit != "B" || objects.Unit != "objects" || share(space, "allocator.Run") < 0.99 || share(objects, "allocator.Run") < 0.99 {
		t.Errorf("%.3f of %s, %.3f of %s", share(space, "allocator.Run"), space.Unit, share(objects, "allocator.Run"), objects.Unit)
	}
	// Slices of 1,000 bytes are 1,024 in the allocator.
	if each := float64(space.Total) / float64(objects.Total); each < 1000 || each > 1100 {
		t.Errorf("%.0f bytes each", each)
	}
	whole, _, err := allocProfiles(after, nil)
	if err != nil || whole.Total <= space.Total {
		t.Errorf("with what was before, %d; without, %d; %v", whole.Total, space.Total, err)
	}
	if same, _, err := allocProfiles(after, after); err != nil || same.Total != 0 {
		t.Errorf("a profile less itself is %+v; %v", same, err)
	}
}

func TestWaitProfiles(t *testing.T) {
	for _, name := range []string{"mutex.pprof", "block.pprof"} {
		p, err := waitProfile(recordedPprof(t, name))
		if err != nil {
			t.Fatal(err)
		}
		if share(p, "evidence.(*lockers).locked") < 0.5 || p.Stacks[0].Count == 0 {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestAProfileOfAnotherKindIsRefused(t *testing.T) {
	_, err := cpuProfile(recordedPprof(t, "mutex.pprof"))
	if err == nil || !strings.Contains(err.Error(), "contentions") {
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
		"empty messages":  packed(t, bytes.Repeat([]byte{0x12, 0}, maxPprofFields+10)),
		"a bomb":          bytes.Repeat(packed(t, make([]byte, 1<<20)), maxPprof>>20+1), // gzip joins its parts
		"a claimed gift":  {0x12, 0xff, 0xff, 0xff, 0xff, 0x7f},
		"an empty sample": {0x12, 0},
	} {
		p, err := readPprof(bytes.NewReader(data))
		if err == nil {
			t.Errorf("%s: %v", name, p)
		}
		if big := name == "a bomb" || name == "empty messages"; big != errors.Is(err, ErrTooLarge) {
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
			out, err := pprofOf(p, nil, st.Type, st.Type, "ns")
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
