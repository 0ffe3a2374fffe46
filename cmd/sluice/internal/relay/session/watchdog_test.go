package session

import (
	"errors"
	"net"
	"testing"
	"time"
)

// deadlines is a connection that keeps its read deadline.
type deadlines struct {
	net.Conn
	read time.Time
}

func (c *deadlines) SetReadDeadline(t time.Time) error {
	c.read = t
	return nil
}

// A deadline that is noticed late, because the process stood still, ends no publisher: what
// it sent meanwhile has not been read. One that is silent, or too slow, is ended afterwards.
func TestWatchdogExcusesAStandstill(t *testing.T) {
	const window, least = 10 * time.Second, 100
	for name, c := range map[string]struct {
		more int64 // bytes that are read after the standstill
		want error
	}{
		"silent": {0, ErrIdle}, "slow": {10, ErrTooSlow}, "well": {10_000, nil},
	} {
		now := time.Unix(1_700_000_000, 0)
		conn := &deadlines{}
		w := NewWatchdogAt(conn, window, window, window, least, func() time.Time { return now })
		now = conn.read
		if err := w.Check(10_000); err != nil {
			t.Errorf("%s: %v in time", name, err)
		}
		now = conn.read.Add(window / 4)
		if err := w.Check(10_000); err != nil {
			t.Errorf("%s: %v after a standstill", name, err)
		}
		if !conn.read.After(now) {
			t.Errorf("%s: the read is not repeated", name)
		}
		now = conn.read
		if err := w.Check(10_000 + c.more); !errors.Is(err, c.want) {
			t.Errorf("%s: %v after another window, want %v", name, err, c.want)
		}
	}
	// Standing still again and again is no way to stay for ever.
	now := time.Unix(1_700_000_000, 0)
	conn := &deadlines{}
	w := NewWatchdogAt(conn, window, window, window, least, func() time.Time { return now })
	for n := 0; ; n++ {
		now = conn.read.Add(window)
		if w.Check(0) != nil {
			break
		}
		if n == 2 {
			t.Fatal("a silent publisher stays")
		}
	}
}
