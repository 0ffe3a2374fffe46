package proc

import (
	"strings"
	"testing"
	"time"
)

// statTail are the fields of /proc/PID/stat behind the name.
const statTail = " S 1 1 1 0 -1 4194304 101 0 0 0 250 125 0 0 20 0 7 0 2247376 3133440 375 18446744073709551615 1 1 1 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0\n"

func TestTheNameOfAProcessIsWhateverItLikes(t *testing.T) {
	want := stat{user: 2500 * time.Millisecond, system: 1250 * time.Millisecond, threads: 7, began: 2247376}
	for _, name := range []string{"cat", "", "a b", ")", "(", "a) R 1 2 3", "((()))", "x\ny", ") S 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9", "\x00\xff"} {
		got, err := parseStat([]byte("42 (" + name + ")" + statTail))
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", name, got, err)
		}
	}
}

func TestTextsThatAreNotTheirForm(t *testing.T) {
	for _, text := range []string{
		"", "42", "42 (cat", "42 (cat)", "42 (cat) S 1 1", "42 (cat" + statTail,
		"42 (cat)" + strings.Replace(statTail, "250", "-250", 1),
		"42 (cat)" + strings.Replace(statTail, "250", "9223372036854775807", 1),
		"42 (cat)" + strings.Replace(statTail, "250", "99999999999999999999", 1),
		"42 (cat)" + strings.Replace(statTail, " 7 ", " 4294967296 ", 1),
	} {
		if s, err := parseStat([]byte(text)); err == nil {
			t.Errorf("stat %q is taken for %+v", text, s)
		}
	}
	for _, text := range []string{"VmRSS: many kB\n", "VmRSS: -1 kB\n", "VmRSS: 18446744073709551615 kB\n", "voluntary_ctxt_switches:\n", "nonvoluntary_ctxt_switches: x"} {
		if s, err := parseStatus([]byte(text)); err == nil {
			t.Errorf("status %q is taken for %+v", text, s)
		}
	}
	for _, text := range []string{"", "syscr: 1\n", "syscw: 1\n", "syscr: x\nsyscw: 1\n", "xsyscr: 1\nxsyscw: 2\n"} {
		if c, err := parseIO([]byte(text)); err == nil {
			t.Errorf("io %q is taken for %+v", text, c)
		}
	}
	for _, text := range []string{"", "1", "1 x 3", "1 -1 3", "1 18446744073709551615 3"} {
		if q, err := parseSchedstat([]byte(text)); err == nil {
			t.Errorf("schedstat %q is taken for %v", text, q)
		}
	}
}

func TestStatus(t *testing.T) {
	// The kernel escapes a line's end in the name, so that it stays in its line.
	text := "Name:\tVmRSS: 1 kB\\nvoluntary_ctxt_switches: 1\nUmask:\t0022\nno colon here\nVmRSS:\t    1668 kB\nThreads:\t1\n" +
		"voluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n"
	got, err := parseStatus([]byte(text))
	if want := (status{switches: switches{150, 545}, hasSwitches: true, resident: 1668 << 10}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	// A process that has ended and was not waited for has no memory.
	got, err = parseStatus([]byte("Name:\tx\nState:\tZ (zombie)\n"))
	if err != nil || got != (status{}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestCallsAndWaiting(t *testing.T) {
	c, err := parseIO([]byte("rchar: 6976\nwchar: 0\nsyscr: 10\nsyscw: 3\nread_bytes: 0\n"))
	if err != nil || c != (calls{10, 3}) {
		t.Errorf("%+v, %v", c, err)
	}
	q, err := parseSchedstat([]byte("95197713 14030449 131\n"))
	if err != nil || q != 14030449 {
		t.Errorf("%v, %v", q, err)
	}
}

// FuzzTexts holds that nothing in a text of /proc makes a parser panic or give
// a count that is not one.
func FuzzTexts(f *testing.F) {
	f.Add([]byte("42 (a) R 1 (b)" + statTail))
	f.Add([]byte("Name:\tx\nVmRSS:\t 1668 kB\nvoluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t2\n"))
	f.Add([]byte("syscr: 10\nsyscw: 3\n"))
	f.Add([]byte("95197713 14030449 131\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, err := parseStat(text); err == nil && (s.user < 0 || s.system < 0 || s.threads < 0) {
			t.Errorf("stat: %+v", s)
		}
		if s, err := parseStatus(text); err == nil && s.resident < 0 {
			t.Errorf("status: %+v", s)
		}
		if q, err := parseSchedstat(text); err == nil && q < 0 {
			t.Errorf("schedstat: %v", q)
		}
		if _, err := parseIO(text); err != nil && len(err.Error()) > 500 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	})
}
