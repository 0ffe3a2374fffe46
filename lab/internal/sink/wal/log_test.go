package wal

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/sluice-go/sluice/sluicetest"
)

func mustOpen(t *testing.T, dir string, o Options) *Log {
	t.Helper()
	l, _, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestALogOnTheSystemsFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	o := Options{SegmentBytes: 1 << 20}
	l, r, err := Open(dir, o)
	if err != nil || r.Last != 0 || r.Cut != 0 {
		t.Fatalf("a new log: %+v, %v", r, err)
	}
	// Short and long ones, in several segments.
	var all [][]byte
	for i := range 5000 {
		size := i % 300
		switch {
		case i%50 == 0:
			size = 1024 + i
		case i == 77:
			size = 3 << 20 // longer than a segment
		}
		all = append(all, bytes.Repeat([]byte{byte(i)}, size))
	}
	for start := 0; start < len(all); {
		end := min(start+1+start%3000, len(all))
		first, err := l.AppendBatch(all[start:end])
		if err != nil || first != uint64(start+1) {
			t.Fatalf("appended as %d, %v", first, err)
		}
		start = end
	}
	if n, err := prefix(l, all); n != len(all) || err != nil {
		t.Fatalf("%d records before the end, %v", n, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, r, err = Open(dir, o)
	if err != nil || r.Last != uint64(len(all)) || r.Cut != 0 || r.Segments < 4 {
		t.Fatalf("opened again: %+v, %v", r, err)
	}
	defer l.Close()
	if n, err := prefix(l, all); n != len(all) || err != nil {
		t.Fatalf("%d records after it, %v", n, err)
	}
	reader := l.NewReader()
	defer reader.Close()
	random := rand.New(rand.NewPCG(sluicetest.Seed(t), 4))
	for range 300 {
		n := random.IntN(len(all))
		for i := n; i < min(n+random.IntN(4), len(all)); i++ {
			if p, err := reader.Get(uint64(i + 1)); err != nil || !bytes.Equal(p, all[i]) {
				t.Fatalf("record %d: %d bytes, want %d: %v", i+1, len(p), len(all[i]), err)
			}
		}
	}
	for _, n := range []uint64{0, uint64(len(all) + 1)} {
		if _, err := reader.Get(n); !errors.Is(err, ErrNoRecord) {
			t.Errorf("record %d: %v", n, err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(e.Name(), Suffix) && info.Size() > 1<<20 && info.Size() < 3<<20 {
			t.Errorf("%s has %d bytes", e.Name(), info.Size())
		}
	}
}

func TestOneBatchIsOneWrite(t *testing.T) {
	m := newMemFS(1)
	l := mustOpen(t, "log", Options{FS: m})
	m.writes = 0
	batch := make([][]byte, 400)
	for i := range batch {
		batch[i] = make([]byte, 128)
		if i%10 == 0 {
			batch[i] = make([]byte, 10_000)
		}
	}
	if _, err := l.AppendBatch(batch); err != nil {
		t.Fatal(err)
	}
	if m.writes != 1 {
		t.Errorf("%d writes", m.writes)
	}
}

func TestTwoLogsOnOneDirectory(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, dir, Options{})
	if _, _, err := Open(dir, Options{}); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("%v", err)
	} else if runtime.GOOS != "windows" && !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("%v does not say who", err)
	}
	if _, err := l.AppendBatch([][]byte{{1}}); err != nil {
		t.Errorf("the first one: %v", err)
	}
	if _, err := Scan(dir, nil); err != nil {
		t.Errorf("Scan beside it: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again, _, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

func TestWhatIsRefused(t *testing.T) {
	m := newMemFS(1)
	l := mustOpen(t, "log", Options{FS: m, MaxRecord: 10})
	if _, err := l.AppendBatch([][]byte{{1}, make([]byte, 11)}); !errors.Is(err, ErrTooLong) {
		t.Errorf("%v", err)
	}
	if l.LastIndex() != 0 {
		t.Error("half of a batch was appended")
	}
	if first, err := l.AppendBatch([][]byte{make([]byte, 10), {}}); first != 1 || err != nil {
		t.Errorf("%d, %v", first, err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic for no records")
			}
		}()
		l.AppendBatch(nil)
	}()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	_, appended := l.AppendBatch([][]byte{{1}})
	for what, err := range map[string]error{
		"AppendBatch": appended, "Sync": l.Sync(), "Close": l.Close(), "TruncateBack": l.TruncateBack(0),
		"Read": l.read(1, nil),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s of a closed log: %v", what, err)
		}
	}
	for _, o := range []Options{{SegmentBytes: -1}, {MaxRecord: -1}, {MaxRecord: mostRecord + 1}} {
		if _, _, err := Open("other", o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

func TestReading(t *testing.T) {
	m := newMemFS(1)
	l := mustOpen(t, "log", Options{FS: m, SegmentBytes: 200})
	for i := range 30 {
		if _, err := l.AppendBatch([][]byte{{byte(i + 1)}}); err != nil {
			t.Fatal(err)
		}
	}
	from := func(n uint64) (list []uint64, err error) {
		err = l.read(n, func(index uint64, p []byte) error {
			if p[0] != byte(index) {
				t.Errorf("record %d is %v", index, p)
			}
			list = append(list, index)
			return nil
		})
		return list, err
	}
	for _, n := range []uint64{1, 7, 8, 9, 30} {
		if list, err := from(n); err != nil || len(list) != int(31-n) || list[0] != n {
			t.Errorf("from %d: %v, %v", n, list, err)
		}
	}
	if list, err := from(31); err != nil || len(list) != 0 {
		t.Errorf("behind the end: %v, %v", list, err)
	}
	if _, err := from(0); !errors.Is(err, ErrNoRecord) {
		t.Errorf("from 0: %v", err)
	}
	stop := errors.New("enough")
	if err := l.read(1, func(uint64, []byte) error { return stop }); err != stop {
		t.Errorf("an error of the function: %v", err)
	}
	// Within a file, at the end of one, and everything.
	for _, last := range []uint64{29, 24, 8, 7, 0} {
		if err := l.TruncateBack(last); err != nil || l.LastIndex() != last || l.DurableIndex() > last {
			t.Fatalf("cut behind %d: %d, %v", last, l.LastIndex(), err)
		}
		if list, err := from(1); err != nil || len(list) != int(last) {
			t.Errorf("cut behind %d: %v, %v", last, list, err)
		}
	}
	for i := range 10 {
		if first, err := l.AppendBatch([][]byte{{byte(i + 1)}}); err != nil || first != uint64(i+1) {
			t.Fatal(first, err)
		}
	}
	if list, err := from(1); err != nil || len(list) != 10 {
		t.Errorf("appended again: %v, %v", list, err)
	}
	m.file("log/" + segmentName(1)).seen[segmentHeader+4] ^= 1
	if _, err := from(1); !errors.Is(err, ErrCorrupt) {
		t.Errorf("damage: %v", err)
	}
}

func TestAFullDisk(t *testing.T) {
	m := newMemFS(1)
	l := mustOpen(t, "log", Options{FS: m})
	if _, err := l.AppendBatch([][]byte{[]byte("one")}); err != nil {
		t.Fatal(err)
	}
	if err := l.Sync(); err != nil {
		t.Fatal(err)
	}
	m.room = 100
	_, err := l.AppendBatch([][]byte{make([]byte, 50), make([]byte, 50)})
	if !errors.Is(err, ErrFailed) || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("%v", err)
	}
	m.room = -1 // there is space again, but this log is done
	if _, err := l.AppendBatch([][]byte{{1}}); !errors.Is(err, ErrFailed) {
		t.Errorf("%v", err)
	}
	if err := l.Sync(); !errors.Is(err, ErrFailed) {
		t.Errorf("%v", err)
	}
	if err := l.Close(); !errors.Is(err, ErrFailed) {
		t.Errorf("%v", err)
	}
	l, r, err := Open("log", Options{FS: m})
	// The first of the two came whole.
	if err != nil || r.Last != 2 || r.Cut != 26 {
		t.Fatalf("%+v, %v", r, err)
	}
	defer l.Close()
	if first, err := l.AppendBatch([][]byte{{1}}); first != 3 || err != nil || l.Sync() != nil {
		t.Errorf("%d, %v", first, err)
	}
}

func TestSyncCoversWhatWasAppendedBefore(t *testing.T) {
	m := newMemFS(1)
	l := mustOpen(t, "log", Options{FS: m})
	append1 := func() {
		t.Helper()
		if _, err := l.AppendBatch([][]byte{{1}}); err != nil {
			t.Fatal(err)
		}
	}
	append1()
	entered, leave := make(chan bool), make(chan bool)
	m.mu.Lock()
	m.onSync = func() {
		entered <- true
		<-leave
	}
	m.mu.Unlock()
	done := make(chan error)
	go func() { done <- l.Sync() }()
	<-entered
	append1() // beside the sync, which does not count it
	leave <- true
	if err := <-done; err != nil || l.DurableIndex() != 1 {
		t.Errorf("durable %d, %v", l.DurableIndex(), err)
	}
	go func() { done <- l.Sync() }()
	select {
	case <-entered:
	case err := <-done:
		t.Fatalf("the second record was taken for durable, %v", err)
	}
	leave <- true
	if err := <-done; err != nil || l.DurableIndex() != 2 {
		t.Errorf("durable %d, %v", l.DurableIndex(), err)
	}
	// Nothing new: the disk is not asked.
	if err := l.Sync(); err != nil {
		t.Error(err)
	}
	m.mu.Lock()
	m.onSync = nil
	m.mu.Unlock()
}

func TestManyAtOnce(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, dir, Options{SegmentBytes: 64 << 10})
	const writers, each = 8, 100
	var all sync.WaitGroup
	var mu sync.Mutex
	want := map[uint64][]byte{}
	for w := range writers {
		all.Go(func() {
			for i := range each {
				p := bytes.Repeat([]byte{byte(w)}, i*7)
				first, err := l.AppendBatch([][]byte{p, {byte(i)}})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				want[first], want[first+1] = p, []byte{byte(i)}
				mu.Unlock()
				if i%20 == 0 {
					if err := l.Sync(); err != nil || l.DurableIndex() < first+1 {
						t.Errorf("%d, %v", l.DurableIndex(), err)
					}
				}
			}
		})
	}
	all.Go(func() {
		for range 20 {
			next := uint64(1)
			err := l.read(next, func(index uint64, _ []byte) error {
				if index != next {
					return fmt.Errorf("%d for %d", index, next)
				}
				next++
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var n uint64
	r, err := Scan(dir, func(index uint64, p []byte) error {
		n++
		if !bytes.Equal(p, want[index]) {
			return fmt.Errorf("record %d is not what was appended", index)
		}
		return nil
	})
	if err != nil || r.Last != writers*each*2 || n != r.Last || r.Cut != 0 {
		t.Errorf("%+v, %d records, %v", r, n, err)
	}
}
