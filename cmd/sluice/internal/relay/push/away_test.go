package push

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/logtest"
	"github.com/sluice-go/sluice/live"
)

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A target that is away for a day is tried every few seconds all the time, which takes no
// more memory after a day than after an hour, and some lines of the log.
func TestTargetThatIsAwayForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := live.NewHub(live.HubOptions{})
		defer hub.Close()
		published, err := hub.Publish("live/s", live.PublishOptions{})
		if err != nil {
			t.Fatal(err)
		}
		target, err := ParseTarget("live/*=rtmp://away.example/live/hunter2", nil)
		if err != nil {
			t.Fatal(err)
		}
		log := &logtest.Log{}
		var failed atomic.Int64
		p := New(Options{
			Targets: func(string) []*Target { return []*Target{target} },
			Logger:  slog.New(slog.NewTextHandler(log, nil)),
			dial: func(context.Context, string) (net.Conn, error) {
				return nil, fmt.Errorf("read 10.0.0.1:%d: connection reset", failed.Add(1))
			},
		})
		p.Begin(published.Stream())
		time.Sleep(time.Hour)
		before := heap()
		time.Sleep(23 * time.Hour)
		synctest.Wait()
		tries := int(failed.Load())
		if grown := heap() - before; grown > 512<<10 {
			t.Errorf("%d bytes more after %d tries", grown, tries)
		}
		if want := int(24 * time.Hour / p.options.RetryMost); tries < want || tries > want+10 {
			t.Errorf("%d tries, want about %d", tries, want)
		}
		if n := strings.Count(log.String(), "push failed"); n < 24 || n > 40 {
			t.Errorf("%d lines of the log", n)
		}
		if list := p.List(); len(list) != 1 || list[0].State != Waiting || list[0].Tries != tries {
			t.Errorf("%+v after %d tries", list, tries)
		}
		published.Close()
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Another kind of failure is logged soon, and two that alternate once a minute.
func TestReportsOfFailures(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	var r reports
	count := func(d time.Duration, state func(n int) string) (lines int) {
		for n := 0; n < int(d/(4*time.Second)); n++ {
			at = at.Add(4 * time.Second)
			if r.due(state(n), at) {
				lines++
			}
		}
		return lines
	}
	if n := count(time.Hour, func(int) string { return Waiting }); n != 6 { // at 0, 1, 3, 7, 15 and 31 minutes
		t.Errorf("%d lines in the first hour", n)
	}
	at = at.Add(4 * time.Second)
	if !r.due(Refused, at) {
		t.Error("another failure is not logged")
	}
	if n := count(time.Hour, func(n int) string { return []string{Waiting, Refused}[n%2] }); n < 30 || n > 60 {
		t.Errorf("%d lines of failures that alternate", n)
	}
}
