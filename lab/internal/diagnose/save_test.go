package diagnose

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/sluice-go/sluice/lab/internal/planted"
)

var errBroken = errors.New("broken")

func TestAFullDiskIsNoticed(t *testing.T) {
	if err := new(Diagnosis).Save(brokenWriter{}); !errors.Is(err, errBroken) {
		t.Errorf("%v", err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestADiagnosisIsSavedAndLoaded(t *testing.T) {
	e := recorded(t, "shared-counter", planted.Fault)
	d := &Diagnosis{Kind: Kind, Schema: Schema, Version: "v1", Command: []string{"lab", "diagnose"}, Started: time.Unix(1, 0).UTC(), Findings: Diagnose(e), Evidence: *e}
	var b strings.Builder
	if err := d.Save(&b); err != nil {
		t.Fatal(err)
	}
	got, err := Load(iotest.OneByteReader(strings.NewReader(b.String())))
	if err != nil || !reflect.DeepEqual(got, d) {
		t.Errorf("%v: %+v", err, got)
	}
	for _, text := range []string{"", "{}", "[]", `{"kind":"load","schema":1}`, `{"kind":"diagnosis","schema":2}`, b.String()[:200]} {
		if _, err := Load(strings.NewReader(text)); !errors.Is(err, ErrSchema) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	if _, err := Load(iotest.ErrReader(io.ErrClosedPipe)); err == nil {
		t.Error("an unreadable file was loaded")
	}
}
