package machine

import "testing"

func TestProcessorsName(t *testing.T) {
	for info, want := range map[string]string{
		"processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\n\nprocessor\t: 1\nmodel name\t: Other\n": "Some CPU @ 2.0GHz",
		"processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n":                             "implementer 0x41 part 0xd0c",
		"processor\t: 0\nhart\t: 1\nuarch\t: sifive,u74-mc\n":                                      "sifive,u74-mc",
		"": "",
	} {
		if got := cpuModel([]byte(info)); got != want {
			t.Errorf("%q: got %q, want %q", info, got, want)
		}
	}
}

func TestMemoryOfTheMachine(t *testing.T) {
	if got := memTotal([]byte("MemTotal:        2048 kB\nMemFree: 1 kB\n")); got != 2<<20 {
		t.Errorf("memory %d", got)
	}
	for _, text := range []string{"", "MemTotal:", "MemTotal: x kB", "MemTotal: 99999999999999999999 kB", "MemTotal: 9223372036854775807 kB"} {
		if got := memTotal([]byte(text)); got != 0 {
			t.Errorf("%q: %d", text, got)
		}
	}
	if m := This(); m.Memory < 1<<20 || m.OpenFiles == 0 {
		t.Errorf("%+v", m)
	}
}
