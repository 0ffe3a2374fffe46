package sink

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/sluicetest"

	"github.com/sluice-go/sluice/lab/internal/sink/wal"
)

func TestWhatComesDuringAnFsyncSharesTheNext(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	log := &fakeLog{syncing: make(chan chan bool)}
	s := NewSync(log)
	first := give(s, "one")
	leave := receive(t, "fsync", log.syncing)
	none(t, "answered before the fsync", first)
	var rest []<-chan reply
	for i := range 20 {
		rest = append(rest, give(s, fmt.Sprint(i), "x"))
	}
	leave <- true
	if r := receive(t, "answer", first); r.first != 1 || r.err != nil {
		t.Errorf("%+v", r)
	}
	leave = receive(t, "fsync", log.syncing)
	for _, c := range rest {
		none(t, "answered before its fsync", c)
	}
	leave <- true
	for i, c := range rest {
		if r := receive(t, "answer", c); r.first != uint64(2+2*i) || r.err != nil {
			t.Errorf("append %d: %+v", i, r)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want := Groups{Syncs: 2, Records: 41, Most: 40}
	if g := s.Groups(); fmt.Sprint(g) != fmt.Sprint(want) || log.syncs != 2 || !slices.Equal(log.batches, []int{1, 40}) {
		t.Errorf("%+v, %d fsyncs, batches %v", g, log.syncs, log.batches)
	}
	if log.closed != 1 || s.Close() != nil || log.closed != 1 {
		t.Errorf("the log was closed %d times", log.closed)
	}
}

func TestAfterAFailedFsyncNothingIsAcknowledged(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	log := &fakeLog{syncing: make(chan chan bool)}
	s := NewSync(log)
	first := give(s, "one")
	leave := receive(t, "fsync", log.syncing)
	waiting := give(s, "two")
	log.failWith("sync", syscall.EIO)
	leave <- true
	if r := receive(t, "answer", first); !errors.Is(r.err, ErrFailed) || !errors.Is(r.err, syscall.EIO) {
		t.Errorf("%+v", r)
	}
	log.failWith("sync", nil) // the disk would do again
	receive(t, "news of the failure", s.Failed())
	if r := receive(t, "answer", waiting); !errors.Is(r.err, ErrFailed) {
		t.Errorf("what waited: %+v", r)
	}
	if r := receive(t, "answer", give(s, "three")); !errors.Is(r.err, ErrFailed) || r.first != 0 {
		t.Errorf("what came later: %+v", r)
	}
	if err := s.Close(); !errors.Is(err, syscall.EIO) || err != s.Err() {
		t.Errorf("Close: %v", err)
	}
	if log.syncs != 1 {
		t.Errorf("%d fsyncs", log.syncs)
	}
}

func TestARecordThatIsTooLongFailsAlone(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	log, _, err := wal.Open(t.TempDir(), wal.Options{MaxRecord: 10})
	if err != nil {
		t.Fatal(err)
	}
	s := NewSync(log)
	if r := receive(t, "answer", give(s, "much too long")); !errors.Is(r.err, wal.ErrTooLong) || errors.Is(r.err, ErrFailed) {
		t.Errorf("%+v", r)
	}
	if r := receive(t, "answer", give(s, "short", "")); r.first != 1 || r.err != nil {
		t.Errorf("%+v", r)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestAsyncAnswersBeforeItWrites(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	log := &fakeLog{appending: make(chan chan bool), records: []string{"old"}, durable: 1}
	s := NewAsync(log, AsyncOptions{SyncEvery: time.Hour})
	if r := <-give(s, "a", "b"); r.first != 2 || r.err != nil {
		t.Errorf("%+v", r)
	}
	leave := receive(t, "write", log.appending)
	if r := <-give(s, "c"); r.first != 4 || r.err != nil {
		t.Errorf("%+v", r)
	}
	if unwritten, unsynced := s.AtRisk(); unwritten != 3 || unsynced != 3 {
		t.Errorf("at risk: %d, %d", unwritten, unsynced)
	}
	leave <- true
	leave = receive(t, "write", log.appending)
	if unwritten, unsynced := s.AtRisk(); unwritten != 1 || unsynced != 3 {
		t.Errorf("at risk: %d, %d", unwritten, unsynced)
	}
	leave <- true
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(log.records, []string{"old", "a", "b", "c"}) || log.closed != 1 {
		t.Errorf("%q, closed %d times", log.records, log.closed)
	}
	if unwritten, unsynced := s.AtRisk(); unwritten != 0 || unsynced != 0 {
		t.Errorf("at risk at the end: %d, %d", unwritten, unsynced)
	}
}

func TestAsyncSyncsInTime(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	synctest.Test(t, func(t *testing.T) {
		log := &fakeLog{}
		s := NewAsync(log, AsyncOptions{SyncEvery: time.Second})
		for second := range 5 {
			<-give(s, "a")
			synctest.Wait()
			if log.LastIndex() != uint64(second+1) || log.DurableIndex() != uint64(second) {
				t.Errorf("second %d: %d written, %d durable", second, log.LastIndex(), log.DurableIndex())
			}
			<-time.After(time.Second)
			synctest.Wait()
			if log.DurableIndex() != uint64(second+1) {
				t.Errorf("second %d: %d durable", second, log.DurableIndex())
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestAsyncThatFailsSaysWhatIsLost(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	for _, what := range []string{"append", "sync"} {
		// In virtual time the first sync does not come before the first records.
		synctest.Test(t, func(t *testing.T) {
			log := &fakeLog{}
			log.failWith(what, syscall.ENOSPC)
			s := NewAsync(log, AsyncOptions{SyncEvery: time.Millisecond})
			if r := <-give(s, "a", "b"); r.first != 1 || r.err != nil {
				t.Errorf("%s: %+v", what, r)
			}
			receive(t, "news of the failure", s.Failed())
			if r := <-give(s, "c"); !errors.Is(r.err, ErrFailed) || !errors.Is(r.err, syscall.ENOSPC) {
				t.Errorf("%s: %+v", what, r)
			}
			unwritten, unsynced := s.AtRisk()
			if what == "append" && unwritten != 2 || unsynced != 2 {
				t.Errorf("%s: %d, %d at risk", what, unwritten, unsynced)
			}
			if err := s.Close(); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%s: Close: %v", what, err)
			}
		})
	}
}

func TestAFullQueueHoldsAppendsUp(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	synctest.Test(t, func(t *testing.T) {
		log := &fakeLog{appending: make(chan chan bool)}
		s := NewAsync(log, AsyncOptions{Queue: 10, SyncEvery: time.Hour})
		<-give(s, strings.Repeat("x", 20)) // more than all the room, but it is alone
		leave := <-log.appending
		var held sync.WaitGroup
		var back [2]bool
		for i := range back {
			held.Go(func() {
				<-give(s, "held!!") // both do not fit either
				back[i] = true
			})
		}
		synctest.Wait()
		if back[0] || back[1] {
			t.Error("an append did not wait")
		}
		leave <- true
		leave = <-log.appending
		synctest.Wait()
		if back[0] == back[1] {
			t.Errorf("that there is room for one: %v", back)
		}
		leave <- true
		leave = <-log.appending
		held.Wait()
		leave <- true
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if len(log.records) != 3 {
			t.Errorf("%q", log.records)
		}
	})
}

// What gathers behind a write is written in groups that are not too large, and synced
// at once.
func TestALongQueueIsWrittenInGroups(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	log := &fakeLog{appending: make(chan chan bool, 100)}
	s := NewSync(log)
	first := give(s, "first")
	leave := receive(t, "write", log.appending)
	var rest []<-chan reply
	hundred := slices.Repeat([]string{"x"}, 100)
	for range 200 {
		rest = append(rest, give(s, hundred...))
	}
	leave <- true
	if r := receive(t, "answer", first); r.err != nil {
		t.Error(r.err)
	}
	go func() {
		for leave := range log.appending {
			leave <- true
		}
	}()
	for i, c := range rest {
		if r := receive(t, "answer", c); r.first != uint64(2+100*i) || r.err != nil {
			t.Errorf("append %d: %+v", i, r)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	close(log.appending)
	if log.syncs != 2 || !slices.Equal(log.batches, []int{1, 8100, 8100, 3800}) {
		t.Errorf("%d fsyncs, batches of %v", log.syncs, log.batches)
	}
}

func TestAppendsThatWaitHearOfAFailure(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	log := &fakeLog{appending: make(chan chan bool)}
	s := NewAsync(log, AsyncOptions{Queue: 1, SyncEvery: time.Hour})
	<-give(s, "first")
	leave := receive(t, "write", log.appending)
	held := make(chan reply)
	go func() { held <- <-give(s, "second") }()
	log.failWith("append", syscall.EIO)
	leave <- true
	if r := receive(t, "answer", held); r.err != nil && !errors.Is(r.err, syscall.EIO) {
		t.Errorf("%+v", r)
	}
	if r := <-give(s, "third"); !errors.Is(r.err, syscall.EIO) {
		t.Errorf("%+v", r)
	}
	if err := s.Close(); !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
}

func TestAppendOfNothingPanics(t *testing.T) {
	s := NewSync(&fakeLog{})
	defer s.Close()
	defer func() {
		if text := fmt.Sprint(recover()); !strings.HasPrefix(text, "sink: ") {
			t.Errorf("panic %q", text)
		}
	}()
	s.Append(nil, nil)
}

func TestAppendAfterCloseIsRefused(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	s := NewSync(&fakeLog{})
	s.Close()
	if r := <-give(s, "late"); !errors.Is(r.err, ErrClosed) {
		t.Errorf("%+v", r)
	}
}

// Many goroutines on a real log: each append's numbers are its own, in the order of its
// goroutine, and the bytes under them are what was given.
func TestNumbersAreThoseOfTheRecords(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	for _, mode := range []string{"sync", "async"} {
		dir := t.TempDir()
		log, _, err := wal.Open(dir, wal.Options{SegmentBytes: 10_000})
		if err != nil {
			t.Fatal(err)
		}
		var s Store = NewSync(log)
		if mode == "async" {
			s.Close()
			if log, _, err = wal.Open(dir, wal.Options{SegmentBytes: 10_000}); err != nil {
				t.Fatal(err)
			}
			s = NewAsync(log, AsyncOptions{SyncEvery: time.Millisecond})
		}
		var mu sync.Mutex
		want := map[uint64]string{}
		var all sync.WaitGroup
		for g := range 8 {
			all.Go(func() {
				last := uint64(0)
				for i := range 50 {
					texts := []string{fmt.Sprintf("%d/%d", g, i), strings.Repeat("y", g*i)}
					r := <-give(s, texts...)
					if r.err != nil || r.first <= last {
						t.Errorf("%s: %+v behind %d", mode, r, last)
					}
					last = r.first
					mu.Lock()
					want[r.first], want[r.first+1] = texts[0], texts[1]
					mu.Unlock()
				}
			})
		}
		all.Wait()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		n := 0
		_, err = wal.Scan(dir, func(index uint64, p []byte) error {
			n++
			if !bytes.Equal(p, []byte(want[index])) {
				return fmt.Errorf("%s: record %d is %q, want %q", mode, index, p, want[index])
			}
			return nil
		})
		if err != nil || n != 800 {
			t.Errorf("%s: %d records, %v", mode, n, err)
		}
	}
}

func TestWindowsAreOneLine(t *testing.T) {
	a, s := NewAsync(&fakeLog{}, AsyncOptions{SyncEvery: 250 * time.Millisecond, Queue: 3 << 20}), NewSync(&fakeLog{})
	defer a.Close()
	defer s.Close()
	for _, c := range []struct {
		store Store
		says  []string
	}{
		{a, []string{"async: ", "on receipt", "3 MiB", "250ms", "power cut"}},
		{s, []string{"sync: ", "after fsync"}},
	} {
		text := c.store.Window()
		for _, part := range c.says {
			if !strings.Contains(text, part) || strings.Contains(text, "\n") {
				t.Errorf("%q does not say %q", text, part)
			}
		}
	}
}
