package wal

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// small is a log of a few records of various lengths, in a memFS: those up to
// durable were synced before the others were written.
func small(t *testing.T, o Options, records, durable int) (*memFS, [][]byte) {
	t.Helper()
	m := newMemFS(1)
	o.FS = m
	l, _, err := Open("log", o)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for i := range records {
		p := bytes.Repeat([]byte{byte(i + 1)}, i*7%23)
		all = append(all, p)
		if _, err := l.AppendBatch([][]byte{p}); err != nil {
			t.Fatal(err)
		}
		if i+1 == durable {
			if err := l.Sync(); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.crashKeepingAll()
	return m, all
}

// crashKeepingAll ends all users of the file system, and loses nothing.
func (m *memFS) crashKeepingAll() {
	m.locked = map[string]bool{}
	for _, n := range m.names {
		n.disk, n.pending = append([]byte(nil), n.seen...), nil
	}
}

// content returns all files, to be compared.
func (m *memFS) content() map[string]string {
	all := map[string]string{}
	for name, n := range m.names {
		all[name] = string(n.seen)
	}
	return all
}

// restore puts files back.
func (m *memFS) restore(all map[string]string) {
	m.names, m.locked = map[string]*memInode{}, map[string]bool{}
	for name, text := range all {
		m.names[name] = &memInode{seen: []byte(text), disk: []byte(text)}
	}
}

// read passes the records from a number on to fn.
func (l *Log) read(from uint64, fn func(index uint64, record []byte) error) error {
	r := l.NewReader()
	defer r.Close()
	for last := l.LastIndex(); from <= last; from++ {
		record, err := r.Get(from)
		if err == nil {
			err = fn(from, record)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// prefix checks that a log holds the first records of want, and returns how many.
func prefix(l *Log, want [][]byte) (int, error) {
	n := 0
	err := l.read(1, func(index uint64, p []byte) error {
		if n >= len(want) || index != uint64(n+1) || !bytes.Equal(p, want[n]) {
			return fmt.Errorf("record %d is %q", index, p)
		}
		n++
		return nil
	})
	return n, err
}

func TestEveryTruncationLeavesAPrefix(t *testing.T) {
	m, records := small(t, Options{}, 12, 5)
	whole := m.content()
	name := "log/" + segmentName(1)
	// Where each record ends.
	ends, at := []int{segmentHeader}, segmentHeader
	for _, p := range records {
		at += recordHeader + len(p)
		ends = append(ends, at)
	}
	if at != len(whole[name]) {
		t.Fatalf("the file has %d bytes, want %d", len(whole[name]), at)
	}
	for length := range at + 1 {
		m.restore(map[string]string{name: whole[name][:length]})
		want := 0
		for want+1 < len(ends) && ends[want+1] <= length {
			want++
		}
		scanned, err := scanFS(m, "log", nil)
		if err != nil {
			t.Fatalf("cut to %d bytes: %v", length, err)
		}
		l, r, err := Open("log", Options{FS: m})
		if err != nil {
			t.Fatalf("cut to %d bytes: %v", length, err)
		}
		if r.Last != uint64(want) || scanned.Last != r.Last || scanned.Cut != r.Cut {
			t.Fatalf("cut to %d bytes: recovered %+v, want %d records; Scan says %+v", length, r, want, scanned)
		}
		if cut := length - ends[want]; length >= segmentHeader && (r.Cut != int64(cut) || (r.Reason != "") != (cut > 0)) {
			t.Errorf("cut to %d bytes: %+v, %d bytes too many", length, r, cut)
		}
		if n, err := prefix(l, records); err != nil || n != want {
			t.Fatalf("cut to %d bytes: %d records, %v", length, n, err)
		}
		// And it goes on from there.
		if first, err := l.AppendBatch([][]byte{{1}}); err != nil || first != uint64(want+1) {
			t.Fatalf("cut to %d bytes: appends as %d, %v", length, first, err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if r, err := scanFS(m, "log", nil); err != nil || r.Last != uint64(want+1) || r.Cut != 0 {
			t.Fatalf("cut to %d bytes and appended: %+v, %v", length, r, err)
		}
	}
}

func TestEveryFlippedBitIsNoticed(t *testing.T) {
	// In several segments; the last record of all is not known to be durable.
	m, records := small(t, Options{SegmentBytes: 150}, 12, 11)
	whole := m.content()
	segments := 0
	last := ""
	for name := range whole {
		segments++
		last = max(last, name)
	}
	if segments < 3 {
		t.Fatalf("%d segments", segments)
	}
	// The last record is the only one that may be cut off.
	tail := len(whole[last]) - recordHeader - len(records[len(records)-1])
	for name, text := range whole {
		for i := range len(text) * 8 {
			broken := []byte(text)
			broken[i/8] ^= 1 << (i % 8)
			m.restore(whole)
			m.names[name] = &memInode{seen: broken, disk: broken}
			before := m.content()
			l, r, err := Open("log", Options{FS: m})
			if name == last && i/8 >= tail {
				if err != nil || r.Cut == 0 || r.Reason == "" || r.Last != 11 {
					t.Fatalf("bit %d of the last record of %s: %+v, %v", i, name, r, err)
				}
				if n, err := prefix(l, records); err != nil || n != 11 {
					t.Fatalf("bit %d: %d records, %v", i, n, err)
				}
				continue
			}
			var c *CorruptError
			if !errors.Is(err, ErrCorrupt) || !errors.As(err, &c) {
				t.Fatalf("bit %d of %s: %+v, %v", i, name, r, err)
			}
			if c.Segment != name || c.Offset > int64(i/8) || c.Reason == "" || !strings.Contains(err.Error(), name) {
				t.Fatalf("bit %d of %s: %v", i, name, err)
			}
			if after := m.content(); fmt.Sprint(before) != fmt.Sprint(after) {
				t.Fatalf("bit %d of %s: the files were changed", i, name)
			}
			if m.locked["log"] {
				t.Fatal("the lock is left")
			}
		}
	}
}

func TestDamageToWhatWasDurableIsNotCutAway(t *testing.T) {
	for _, c := range []struct {
		durable, damaged int
		corrupt          bool
	}{
		{0, 3, false}, // nothing was synced: it may be a torn write with a later part that came
		{2, 3, false},
		{3, 3, true}, // record 4 says that 3 was durable
		{8, 3, true},
		{11, 11, true},
		{11, 12, false}, // the last one
	} {
		m, records := small(t, Options{}, 12, c.durable)
		name := "log/" + segmentName(1)
		at := segmentHeader
		for _, p := range records[:c.damaged-1] {
			at += recordHeader + len(p)
		}
		m.file(name).seen[at+5] ^= 1 // in the checksum
		l, r, err := Open("log", Options{FS: m})
		if c.corrupt {
			var e *CorruptError
			if !errors.As(err, &e) || e.Index != uint64(c.damaged) || e.Offset != int64(at) || e.Segment != name {
				t.Errorf("%+v: %+v, %v", c, r, err)
			}
			continue
		}
		if err != nil || r.Last != uint64(c.damaged-1) || r.Cut == 0 {
			t.Errorf("%+v: %+v, %v", c, r, err)
			continue
		}
		if n, err := prefix(l, records); err != nil || n != c.damaged-1 {
			t.Errorf("%+v: %d records, %v", c, n, err)
		}
	}
}

// Records that a client made up, to be taken for those of the log.
func TestPayloadsThatLookLikeRecordsProveNothing(t *testing.T) {
	var fake []byte
	for i := range uint64(40) {
		head := appendRecord(nil, salt{}.seed(), i+2, i+1, nil)
		fake = append(fake, head...)
	}
	m := newMemFS(1)
	l, _, err := Open("log", Options{FS: m})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range [][]byte{[]byte("durable"), fake, []byte("last")} {
		if _, err := l.AppendBatch([][]byte{p}); err != nil {
			t.Fatal(err)
		}
	}
	m.crashKeepingAll()
	content := m.file("log/" + segmentName(1)).seen
	content[segmentHeader+recordHeader+2] ^= 1 // in the first payload
	_, r, err := Open("log", Options{FS: m})
	if err != nil || r.Last != 0 || r.Cut != int64(len(content)-segmentHeader) {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestMadeUpHeadersCostABoundedTime(t *testing.T) {
	// Every 24 bytes there is a false header that seems to prove the damage before it,
	// with a length up to the end: reading each to its end would take a day.
	m := newMemFS(1)
	l, _, err := Open("log", Options{FS: m})
	if err != nil {
		t.Fatal(err)
	}
	const size = recordHeader << 18
	fake := make([]byte, 0, size)
	for i := uint64(0); len(fake)+recordHeader <= size; i++ {
		head := appendRecord(nil, 0, i+2, i+1, nil)
		left := size - len(fake) - recordHeader
		head[0], head[1], head[2], head[3] = byte(left>>24), byte(left>>16), byte(left>>8), byte(left)
		fake = append(fake, head...)
	}
	if _, err := l.AppendBatch([][]byte{fake}); err != nil {
		t.Fatal(err)
	}
	m.crashKeepingAll()
	m.file("log/" + segmentName(1)).seen[segmentHeader+4] ^= 1
	_, _, err = Open("log", Options{FS: m})
	if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "too much") {
		t.Errorf("%v", err)
	}
}

func TestMissingAndForeignFiles(t *testing.T) {
	m, records := small(t, Options{SegmentBytes: 150}, 12, 12)
	whole := m.content()
	firsts, err := segments(m, "log")
	if err != nil || len(firsts) < 3 {
		t.Fatal(firsts, err)
	}
	delete(m.names, "log/"+segmentName(firsts[1]))
	var c *CorruptError
	if _, _, err := Open("log", Options{FS: m}); !errors.As(err, &c) || c.Index != firsts[1] || !strings.Contains(c.Remedy(), "remove "+c.Segment) {
		t.Fatalf("a segment is missing: %v", err)
	}
	for _, first := range firsts[2:] {
		delete(m.names, "log/"+segmentName(first))
	}
	if _, r, err := Open("log", Options{FS: m}); err != nil || r.Last != c.Index-1 {
		t.Errorf("after the remedy: %+v, %v", r, err)
	}
	m.restore(whole)
	m.names["log/"+segmentName(firsts[1])] = m.names["log/"+segmentName(firsts[2])]
	if _, _, err := Open("log", Options{FS: m}); !errors.As(err, &c) || !strings.Contains(err.Error(), "another's name") {
		t.Errorf("a segment under another's name: %v", err)
	}
	m.restore(whole)
	for _, name := range []string{"LOCK", "raft", "1.wal", "00000000000000000000.wal", "99999999999999999999.wal", segmentName(1) + "~"} {
		m.names["log/"+name] = &memInode{}
	}
	l, r, err := Open("log", Options{FS: m})
	if err != nil || r.Last != 12 {
		t.Fatalf("files of others: %+v, %v", r, err)
	}
	if n, err := prefix(l, records); n != 12 || err != nil {
		t.Errorf("%d records, %v", n, err)
	}
}

func TestAnotherVersionIsNoDamage(t *testing.T) {
	m, _ := small(t, Options{}, 1, 1)
	content := m.file("log/" + segmentName(1)).seen
	s, first, err := parseSegmentHeader(content)
	if err != nil {
		t.Fatal(err)
	}
	for _, length := range []int{segmentHeader, len(content)} {
		putSegmentHeader(content, s, first)
		content[11] = 2
		putSegmentSum(content)
		m.file("log/" + segmentName(1)).seen = content[:length]
		if _, _, err := Open("log", Options{FS: m}); err == nil || !strings.Contains(err.Error(), "version 2") {
			t.Errorf("%d bytes: %v", length, err)
		}
	}
}
