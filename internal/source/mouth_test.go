package source_test

import (
	"io"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/source"
)

func TestMouthGivesWhatWasSentInOrder(t *testing.T) {
	m := source.NewMouth(4)
	for _, s := range []string{"a", "", "b"} {
		if err := m.Send([]byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	close(m.C)
	for _, want := range []string{"a", "b"} { // an empty slice is no end
		if p, err := m.Next(nil, time.Minute); string(p) != want || err != nil {
			t.Errorf("%q, %v; want %q", p, err, want)
		}
	}
	for range 2 {
		if _, err := m.Next(nil, 0); err != io.EOF {
			t.Error(err)
		}
	}
}

func TestMouthWaitsAreEnded(t *testing.T) {
	m := source.NewMouth(0)
	if _, err := m.Next(nil, time.Millisecond); err != source.ErrTimeout {
		t.Error(err)
	}
	stop := make(chan struct{})
	close(stop)
	if _, err := m.Next(stop, 0); err != source.ErrStopped {
		t.Error(err)
	}
	sent, got := make(chan error, 1), make(chan error, 1)
	full := source.NewMouth(0)
	go func() { sent <- full.Send([]byte("x")) }()
	go func() { _, err := m.Next(nil, 0); got <- err }()
	full.Close()
	full.Close()
	m.Close()
	if err := receive(t, "Close under a Send", sent); err != source.ErrOver {
		t.Error(err)
	}
	if err := receive(t, "Close under a Next", got); err != source.ErrOver {
		t.Error(err)
	}
	if err := full.Send(nil); err != source.ErrOver {
		t.Error(err)
	}
}
