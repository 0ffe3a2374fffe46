package evidence

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestPerfStatHere(t *testing.T) {
	p, err := readPerfStat(string(recorded(t, "perf-stat.csv")))
	if err != nil {
		t.Fatal(err)
	}
	if p.Counters["task-clock"] != 15_701_518-1518 || p.Counters["context-switches"] != 1270 || !slices.Equal(p.Unsupported, []string{"cycles", "instructions"}) {
		t.Errorf("%+v", p)
	}
	if _, counted := p.Counters["cycles"]; counted {
		t.Error("what was not supported was counted")
	}
}

func TestPerfStatElsewhere(t *testing.T) {
	// As a machine with counters prints it for a user other than root, with two kinds of
	// cores and one event that had no counter free.
	text := `# started on Sat Nov 21 10:00:00 2026

1003.25,msec,task-clock:u,1003250000,100.00,0.998,CPUs utilized
2000,,cpu_core/cycles/:u,500,50.00,,
0,,context-switches:u,1003250000,100.00,0.000,/sec
4000000,,cycles:u,1003250000,100.00,3.1,GHz
1000000,,cycles:u,1003250000,100.00,3.1,GHz
<not counted>,,LLC-load-misses:u,0,0.00,,
nonsense,,branches,1,1,,
`
	p, err := readPerfStat(text)
	if err != nil {
		t.Fatal(err)
	}
	if p.Counters["task-clock"] != 1003.25e6 || p.Counters["cycles"] != 5e6 || !slices.Equal(p.Unsupported, []string{"context-switches", "LLC-load-misses"}) {
		t.Errorf("%+v", p)
	}
	if _, err := readPerfStat("Error:\nNo permission to enable cycles event.\n"); err == nil {
		t.Error("a refusal was read as counters")
	}
}

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
