package wal

import (
	"bytes"
	"errors"
	"testing"
)

// FuzzScan reads two files of any content as a log. Whatever they are, reading must
// end, and Open must agree with Scan and leave a log that is in order.
func FuzzScan(f *testing.F) {
	seeds := newMemFS(1)
	l, _, err := Open("log", Options{FS: seeds, SegmentBytes: 200})
	if err != nil {
		f.Fatal(err)
	}
	for i := range 12 {
		if _, err := l.AppendBatch([][]byte{bytes.Repeat([]byte{byte(i)}, i)}); err != nil {
			f.Fatal(err)
		}
		if i%5 == 0 {
			l.Sync()
		}
	}
	firsts, _ := segments(seeds, "log")
	one := seeds.file("log/" + segmentName(firsts[0])).seen
	two := seeds.file("log/" + segmentName(firsts[1])).seen
	f.Add(one, two, firsts[1])
	f.Add(one, two[:segmentHeader+5], firsts[1])
	f.Add(one, two[:segmentHeader-5], firsts[1])
	f.Add(one, []byte{}, firsts[1])
	f.Add(one[:len(one)-3], []byte{}, uint64(0))
	f.Add(one[:len(one)-3], two, firsts[1])
	f.Add([]byte(magic), []byte{}, uint64(0))
	f.Add(append(append([]byte(nil), one...), make([]byte, 1000)...), []byte{}, uint64(0))
	broken := append([]byte(nil), one...)
	broken[segmentHeader+9] ^= 4
	f.Add(broken, []byte{}, uint64(0))
	f.Fuzz(func(t *testing.T, one, two []byte, second uint64) {
		m := newMemFS(1)
		put := func(first uint64, content []byte) {
			m.names["log/"+segmentName(first)] = &memInode{seen: bytes.Clone(content), disk: bytes.Clone(content)}
		}
		put(1, one)
		if second > 1 {
			put(second, two)
		}
		var records [][]byte
		r, err := scanFS(m, "log", func(index uint64, p []byte) error {
			if index != uint64(len(records)+1) {
				t.Fatalf("record %d behind %d others", index, len(records))
			}
			records = append(records, bytes.Clone(p))
			return nil
		})
		l, opened, openErr := Open("log", Options{FS: m})
		if (err == nil) != (openErr == nil) {
			t.Fatalf("Scan: %v, Open: %v", err, openErr)
		}
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		if r.Last != uint64(len(records)) || opened.Last != r.Last || opened.Cut != r.Cut {
			t.Fatalf("Scan: %+v, Open: %+v, %d records", r, opened, len(records))
		}
		if n, err := prefix(l, records); err != nil || n != len(records) {
			t.Fatalf("%d of %d records, %v", n, len(records), err)
		}
		if _, err := l.AppendBatch([][]byte{{1}}); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if r, err := scanFS(m, "log", nil); err != nil || r.Cut != 0 || r.Last != uint64(len(records)+1) {
			t.Fatalf("opened and closed: %+v, %v", r, err)
		}
	})
}
