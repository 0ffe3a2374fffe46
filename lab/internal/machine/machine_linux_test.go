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
	if m := This(); m.Memory < 1<<20 || m.OpenFiles == 0 {
		t.Errorf("%+v", m)
	}
}
