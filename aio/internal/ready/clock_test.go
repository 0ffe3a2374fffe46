//go:build unix && !aix && !solaris && !illumos

package ready

import (
	"fmt"
	"net"
	"reflect"
	"testing"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
	"github.com/sluice-go/sluice/mem"
)

// wallShifted returns t, which has a monotonic clock, as it would be if the wall clock had shown
// so many seconds more, and the monotonic one the same.
func wallShifted(t time.Time, seconds int) time.Time {
	type inside struct {
		wall uint64 // 33 bits of seconds above 30 of nanoseconds
		_    int64
		_    *time.Location
	}
	v := reflect.ValueOf(&t)
	fields := reflect.NewAt(reflect.TypeFor[inside](), v.UnsafePointer()).Interface().(*inside)
	fields.wall += uint64(int64(seconds) << 30)
	return t
}

// A deadline comes when its time is over that was left at its submission, whatever the wall clock
// was set by since the watcher was made, with a monotonic clock and without.
func TestDeadlinesAfterTheWallClockWasSet(t *testing.T) {
	const left = time.Hour
	for _, set := range []time.Duration{0, 30 * time.Minute, -30 * time.Minute, 24 * time.Hour, -24 * time.Hour, 50 * 365 * 24 * time.Hour} {
		for name, strip := range map[string]func(time.Time) time.Time{
			"monotonic": func(t time.Time) time.Time { return t },
			"UTC":       time.Time.UTC,
			"wall":      func(t time.Time) time.Time { return t.Round(0) },
		} {
			t.Run(fmt.Sprintf("%s, set by %v", name, set), func(t *testing.T) {
				d, err := Open(op.Settings{Allocator: mem.Default(), BufferSize: 4 << 10})
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				d.start = wallShifted(d.start, -int(set/time.Second))
				if since := time.Since(d.start); since < 0 || since > time.Minute {
					t.Fatalf("time.Since of the shifted start is %v: time.Time has another layout", since)
				}
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				conn, err := net.Dial("tcp", l.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				r := op.Request{Kind: op.ReadSome, Buf: make([]byte, 1), Deadline: strip(time.Now().Add(left))}
				if err := d.Submit(conn, r); err != nil {
					t.Fatal(err)
				}
				d.mu.Lock()
				next := time.Duration(d.timers.next())
				d.mu.Unlock()
				if next < left-time.Minute || next > left+time.Minute {
					t.Errorf("a deadline in %v comes after %v", left, next)
				}
			})
		}
	}
}
