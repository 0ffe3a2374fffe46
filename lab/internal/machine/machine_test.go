package machine

import (
	"strings"
	"testing"
)

func TestThisMachineIsDescribed(t *testing.T) {
	m := This()
	if m.Cores < 1 || m.GOMAXPROCS < 1 || m.Go == "" || m.GOGC == "" || m.OS == "" {
		t.Errorf("%+v", m)
	}
	for _, line := range m.Lines() {
		if line == "" || strings.Contains(line, "\n") {
			t.Errorf("line %q", line)
		}
	}
}
