package consensus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// A fakeLog is a log in memory.
type fakeLog struct {
	records [][]byte
	synced  int
	err     error
	readErr error
}

func (l *fakeLog) AppendBatch(records [][]byte) (uint64, error) {
	if l.err != nil {
		return 0, l.err
	}
	first := uint64(len(l.records)) + 1
	for _, r := range records {
		l.records = append(l.records, bytes.Clone(r))
	}
	return first, nil
}

func (l *fakeLog) Sync() error       { l.synced = len(l.records); return l.err }
func (l *fakeLog) LastIndex() uint64 { return uint64(len(l.records)) }

func (l *fakeLog) Read(from uint64, fn func(uint64, []byte) error) error {
	if l.readErr != nil {
		return l.readErr
	}
	for i := from; i <= uint64(len(l.records)); i++ {
		if err := fn(i, l.records[i-1]); err != nil {
			return err
		}
	}
	return nil
}

// entry is the raft log's form of records.
func entry(records ...[]byte) []byte {
	var sizes []int
	for _, r := range records {
		sizes = append(sizes, len(r))
	}
	return append(appendEntryHeader(nil, sizes), slices.Concat(records...)...)
}

type memorySink struct {
	bytes.Buffer
}

func (*memorySink) ID() string    { return "memory" }
func (*memorySink) Cancel() error { return nil }
func (*memorySink) Close() error  { return nil }

// However often a node is stopped, and whatever its log loses of what was not
// synced, what raft applies again makes it what it was, nothing twice.
func TestReplayAppendsNothingTwice(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	for range 200 {
		var all, everything = [][]byte{}, [][]byte{}
		for n := range 30 {
			var records [][]byte
			for i := range 1 + r.IntN(4) {
				records = append(records, fmt.Appendf(nil, "%d.%d", n, i)[:r.IntN(4)])
			}
			all = append(all, entry(records...))
			everything = append(everything, records...)
		}
		other := &fakeLog{records: everything}
		log := &fakeLog{}
		var snapshot []byte // and the entries that it stands for
		covered := 0
		for life := 0; ; life++ {
			f := &fsm{
				log: log, ctx: context.Background(), bytes: 1 << 30, patience: time.Minute,
				fail: func(err error) { t.Fatal(err) },
				fetch: func(_ context.Context, to uint64, add func([][]byte) error) error {
					from := log.LastIndex() + 1
					// It may get only a part each time.
					to = min(to, from+uint64(r.IntN(5)))
					return add(other.records[from-1 : to])
				},
			}
			if snapshot != nil {
				if err := f.Restore(io.NopCloser(bytes.NewReader(snapshot))); err != nil {
					t.Fatal(err)
				}
			}
			f.start()
			end := covered + r.IntN(len(all)-covered+1)
			if life > 8 {
				end = len(all)
			}
			first := uint64(0)
			for i := range covered {
				records, _ := parseEntry(all[i])
				first += uint64(len(records))
			}
			for i := covered; i < end; i++ {
				a := f.Apply(&raft.Log{Index: uint64(i + 1), Data: all[i]}).(applied)
				if a.err != nil || a.first != first+1 {
					t.Fatalf("entry %d begins with %d, want %d: %v", i, a.first, first+1, a.err)
				}
				records, _ := parseEntry(all[i])
				first += uint64(len(records))
				if r.IntN(10) == 0 {
					s, err := f.Snapshot()
					if err != nil {
						t.Fatal(err)
					}
					var sink memorySink
					if err := s.Persist(&sink); err != nil {
						t.Fatal(err)
					}
					snapshot, covered = bytes.Clone(sink.Bytes()), i+1
				}
			}
			if life > 8 {
				break
			}
			// What a crash leaves. Now and then less than was synced, too.
			keep := log.synced + r.IntN(len(log.records)-log.synced+1)
			if r.IntN(4) == 0 {
				keep = r.IntN(keep + 1)
			}
			log.records, log.synced = log.records[:keep], min(log.synced, keep)
		}
		if !slices.EqualFunc(log.records, everything, bytes.Equal) {
			t.Fatalf("the log has %q, want %q", log.records, everything)
		}
	}
}

func TestFailedApplyIsFinal(t *testing.T) {
	broken := errors.New("no room")
	log := &fakeLog{err: broken}
	var failures []error
	f := &fsm{log: log, ctx: context.Background(), bytes: 1 << 30, fail: func(err error) { failures = append(failures, err) }}
	one := &raft.Log{Index: 1, Data: entry([]byte("one"))}
	if a := f.Apply(one).(applied); !errors.Is(a.err, broken) {
		t.Errorf("applied: %v", a)
	}
	log.err = nil
	if a := f.Apply(one).(applied); !errors.Is(a.err, broken) || len(log.records) > 0 {
		t.Errorf("applied after a failure: %v, %q", a, log.records)
	}
	if _, err := f.Snapshot(); !errors.Is(err, broken) {
		t.Errorf("a snapshot after a failure: %v", err)
	}
	if len(failures) != 1 {
		t.Errorf("told of %v", failures)
	}
}

// Records that the log has and that are not those of the raft log, because
// somebody else has written to it, are not taken for them.
func TestForeignRecordsAreNoticed(t *testing.T) {
	for name, log := range map[string]*fakeLog{
		"another record": {records: [][]byte{[]byte("one"), []byte("xxx")}},
		"more records":   {records: [][]byte{[]byte("one"), []byte("two"), []byte("three"), []byte("foreign")}},
		"damage":         {records: [][]byte{[]byte("one"), []byte("two")}, readErr: errors.New("damaged")},
	} {
		f := &fsm{log: log, ctx: context.Background(), bytes: 1 << 30, fail: func(error) {}}
		had := len(log.records)
		var last applied
		for i, e := range [][]byte{entry([]byte("one")), entry([]byte("two"), []byte("three")), entry([]byte("four"))} {
			last = f.Apply(&raft.Log{Index: uint64(i + 1), Data: e}).(applied)
		}
		if last.err == nil || len(log.records) != had || log.readErr == nil && !errors.Is(last.err, errDiverged) {
			t.Errorf("%s: %v, %d records", name, last.err, len(log.records))
		}
	}
}

func TestSnapshotSyncsFirst(t *testing.T) {
	log := &fakeLog{}
	told := 0
	f := &fsm{log: log, ctx: context.Background(), bytes: 1 << 30, fail: func(error) { told++ }}
	f.Apply(&raft.Log{Index: 1, Data: entry([]byte("one"), []byte("two"))})
	s, err := f.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var sink memorySink
	if err := s.Persist(&sink); err != nil || log.synced != 2 {
		t.Fatalf("%d records were synced: %v", log.synced, err)
	}
	if at, err := readPosition(&sink.Buffer); at != 2 || err != nil {
		t.Errorf("the snapshot says %d, %v", at, err)
	}
	log.err = errors.New("no sync")
	if err := s.Persist(&sink); !errors.Is(err, log.err) || told != 1 {
		t.Errorf("a snapshot without a sync: %v, told %d times", err, told)
	}
	for _, bad := range []string{"", "SLSP\x01", "SLSP\x02xxxxxxxx", "SLSP\x01short"} {
		if _, err := readPosition(bytes.NewReader([]byte(bad))); err == nil {
			t.Errorf("%q is a position", bad)
		}
	}
}

func FuzzEntry(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(entry([]byte("one")))
	f.Add(entry(nil, []byte("two"), nil))
	f.Add([]byte{entryForm, 0xff, 0xff, 0xff, 0xff, 1})
	f.Add([]byte{entryForm, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 1})
	f.Add(append(entry([]byte("one")), 'x'))
	f.Fuzz(func(t *testing.T, p []byte) {
		records, err := parseEntry(p)
		if err != nil {
			if !errors.Is(err, errEntry) {
				t.Errorf("%v", err)
			}
			return
		}
		if len(records) == 0 {
			t.Error("no records and no error")
		}
		if again := entry(records...); !bytes.Equal(again, p) {
			t.Errorf("% x is % x again", p, again)
		}
	})
}
