package evidence

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestPerfScriptHere(t *testing.T) {
	p, err := readPerfScript(iotest.HalfReader(bytes.NewReader(recorded(t, "perf-script.txt"))), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	samples := bytes.Count(recorded(t, "perf-script.txt"), []byte("cpu-clock:"))
	var count int64
	for _, s := range p.Stacks {
		count += s.Count
	}
	if count != int64(samples) || p.Total != count*2_004_008 {
		t.Errorf("%d samples of %d, %d ns", count, samples, p.Total)
	}
	if share(p, "runtime.schedule") == 0 || share(p, "do_syscall_64") == 0 {
		t.Error("frames of the program or of the kernel are missing")
	}
}

func TestPerfScriptFrames(t *testing.T) {
	text := `my program  4242     250000 cycles:P:
	ffffffff81638daa vfs_write+0x6a ([kernel.kallsyms])
	          48fa2b main.(*T).Write (/path of/the program)
	          48fa2c std::map<int, char>::find(int const&) (/usr/lib/libx.so.1 (deleted))
	          48fa2d [unknown] (/usr/lib/libc.so.6)
	               0 [unknown] ([unknown])

other 1 2 cycles:P:
	 1 f (/bin/x)

cut off  7  99 cycles:P:
	 2 g (/bin/x)`
	p, err := readPerfScript(strings.NewReader(text), 1000, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.Total != 2000 || len(p.Stacks) != 2 {
		t.Fatalf("%+v", p)
	}
	want := []Frame{
		{Func: "vfs_write", File: "[kernel]"},
		{Func: "main.(*T).Write", File: "the program"},
		{Func: "std::map<int, char>::find(int const&)", File: "libx.so.1"},
	}
	if !slices.ContainsFunc(p.Stacks, func(s Stack) bool { return slices.Equal(s.Frames, want) }) {
		t.Errorf("got %+v", p.Stacks)
	}
	for _, text := range []string{"", "nothing here\n\n", "a b c:\n\n"} {
		if p, err := readPerfScript(strings.NewReader(text), 1, nil); err == nil {
			t.Errorf("%q gave %+v", text, p)
		}
	}
}

func FuzzPerfScript(f *testing.F) {
	f.Add(recorded(f, "perf-script.txt")[:1200])
	f.Add([]byte("a 1 5 cycles:\n\t1 f (x)\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := readPerfScript(bytes.NewReader(data), 7, nil)
		if p == nil {
			if err == nil {
				t.Fatal("neither samples nor an error")
			}
			return
		}
		checkProfile(t, p)
	})
}
