// Package libraries compares package wal with libraries that could replace it.
// It is a module of its own, so that the lab need not require them:
//
//	cd lab/internal/sink/wal/libraries && GOWORK=off go test -v -bench . -count 6
package libraries

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"
	raftwal "github.com/hashicorp/raft-wal"
	tidwall "github.com/tidwall/wal"

	"github.com/sluice-go/sluice/lab/internal/sink/wal"
)

// A log appends records behind those up to last, synced, and reads one.
type log struct {
	append func(last uint64, records [][]byte) error
	read   func(index uint64) ([]byte, error)
	close  func() error
}

var opens = []struct {
	name string
	open func(dir string, segment int) (log, error)
}{
	{"sluice", func(dir string, segment int) (log, error) {
		l, _, err := wal.Open(dir, wal.Options{SegmentBytes: int64(segment)})
		if err != nil {
			return log{}, err
		}
		r := l.NewReader()
		return log{
			func(_ uint64, records [][]byte) error {
				if _, err := l.AppendBatch(records); err != nil {
					return err
				}
				return l.Sync()
			},
			r.Get, l.Close,
		}, nil
	}},
	{"raft-wal", func(dir string, segment int) (log, error) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return log{}, err
		}
		l, err := raftwal.Open(dir, raftwal.WithSegmentSize(segment))
		if err != nil {
			return log{}, err
		}
		return log{
			func(last uint64, records [][]byte) error {
				logs := make([]*raft.Log, len(records))
				for i, r := range records {
					logs[i] = &raft.Log{Index: last + uint64(i) + 1, Data: r}
				}
				return l.StoreLogs(logs)
			},
			func(index uint64) ([]byte, error) {
				var entry raft.Log
				err := l.GetLog(index, &entry)
				return entry.Data, err
			}, l.Close,
		}, nil
	}},
	{"tidwall", func(dir string, segment int) (log, error) {
		l, err := tidwall.Open(dir, &tidwall.Options{SegmentSize: segment})
		if err != nil {
			return log{}, err
		}
		return log{
			func(last uint64, records [][]byte) error {
				var b tidwall.Batch
				for i, r := range records {
					b.Write(last+uint64(i)+1, r)
				}
				return l.WriteBatch(&b)
			}, l.Read, l.Close,
		}, nil
	}},
}

// BenchmarkAppendSync appends 32 records of 1 KiB and makes them durable.
func BenchmarkAppendSync(b *testing.B) {
	records := make([][]byte, 32)
	for i := range records {
		records[i] = bytes.Repeat([]byte{byte(i)}, 1<<10)
	}
	for _, o := range opens {
		b.Run(o.name, func(b *testing.B) {
			l, err := o.open(filepath.Join(b.TempDir(), "log"), 64<<20)
			if err != nil {
				b.Fatal(err)
			}
			defer l.close()
			b.SetBytes(int64(len(records)) << 10)
			last := uint64(0)
			for b.Loop() {
				if err := l.append(last, records); err != nil {
					b.Fatal(err)
				}
				last += uint64(len(records))
			}
		})
	}
}

// segment is how long the files are whose bits are flipped: several for the records.
const segment = 16 << 10

// TestFlippedBits flips a bit 200 times in the files of each log, opens it and reads all
// records: it says how often other bytes came back than were stored, without an error.
func TestFlippedBits(t *testing.T) {
	records := make([][]byte, 200)
	for i := range records {
		records[i] = bytes.Repeat([]byte{byte(i)}, 500)
	}
	for _, o := range opens {
		t.Run(o.name, func(t *testing.T) {
			made := filepath.Join(t.TempDir(), "log")
			l, err := o.open(made, segment)
			if err != nil {
				t.Fatal(err)
			}
			for i := range records {
				if err := l.append(uint64(i), records[i:i+1]); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.close(); err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(1, 1))
			counts := map[string]int{}
			for n := range 200 {
				dir := filepath.Join(t.TempDir(), fmt.Sprint(n))
				if err := os.CopyFS(dir, os.DirFS(made)); err != nil {
					t.Fatal(err)
				}
				flip(t, r, dir)
				counts[outcome(func() (log, error) { return o.open(dir, segment) }, records)]++
			}
			t.Logf("%s: %v", o.name, counts)
			if o.name == "sluice" && counts["other bytes"]+counts["fewer records"] > 0 {
				t.Error("a flipped bit was not noticed")
			}
		})
	}
}

// flip flips a bit in the first half of one of the first three files of records.
func flip(t *testing.T, r *rand.Rand, dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Size() >= segment/2 && filepath.Ext(e.Name()) != ".db" {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	name := names[r.IntN(3)]
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	bit := r.IntN(8 * segment / 2)
	b[bit/8] ^= 1 << (bit % 8)
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func outcome(open func() (log, error), records [][]byte) (what string) {
	defer func() {
		if recover() != nil {
			what = "panic"
		}
	}()
	l, err := open()
	if err != nil {
		return "refused"
	}
	defer l.close()
	for i, want := range records {
		got, err := l.read(uint64(i + 1))
		if err != nil && i > 0 {
			return "refused or fewer records"
		}
		if err != nil {
			return "refused"
		}
		if !bytes.Equal(got, want) {
			return "other bytes"
		}
	}
	return "whole"
}
