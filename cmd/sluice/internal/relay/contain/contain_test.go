package contain

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	var text bytes.Buffer
	log := slog.New(slog.NewTextHandler(&text, nil))
	index := func(i int) func() error { return func() error { _ = []byte{1}[i]; return errors.New("its own") } }
	if err := Run(log, index(0)); err == nil || err.Error() != "its own" || text.Len() > 0 {
		t.Errorf("%v, %s", err, text.String())
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a test does not see a panic")
			}
		}()
		_ = Run(log, index(1))
	}()
	InTest(t)
	before := Faults()
	err := Run(log, index(2))
	if !errors.Is(err, ErrFault) || !strings.Contains(err.Error(), "index out of range [2]") || Faults() != before+1 {
		t.Errorf("%v, %d faults", err, Faults()-before)
	}
	if s := text.String(); strings.Count(s, "level=ERROR") != 1 || !strings.Contains(s, "contain_test.go") {
		t.Errorf("the log has no stack: %s", s)
	}
	if n := testing.AllocsPerRun(100, func() { _ = Run(log, func() error { before++; return nil }) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
