package wal

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/internal/testdisk"
	"github.com/sluice-go/sluice/sluicetest"
)

// written makes a log on the system's files, of several segments, and returns its
// records. The log was closed, or its process killed.
func written(t *testing.T, dir string, r *rand.Rand, killed bool) [][]byte {
	t.Helper()
	l, _, err := Open(dir, Options{SegmentBytes: 20 << 10})
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for range 60 {
		batch := make([][]byte, 1+r.IntN(5))
		for i := range batch {
			batch[i] = make([]byte, r.IntN(900))
			for j := range batch[i] {
				batch[i][j] = byte(r.Uint32())
			}
		}
		if _, err := l.AppendBatch(batch); err != nil {
			t.Fatal(err)
		}
		if err := l.Sync(); err != nil {
			t.Fatal(err)
		}
		all = append(all, batch...)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if killed {
		if err := os.Remove(filepath.Join(dir, segmentName(uint64(len(all)+1)))); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestRandomDamages(t *testing.T) {
	seed := sluicetest.Seed(t)
	r := rand.New(rand.NewPCG(seed, 3))
	counts := map[string]int{}
	for _, killed := range []bool{false, true} {
		made := testdisk.Dir(t)
		records := written(t, made, r, killed)
		dir := filepath.Join(testdisk.Dir(t), "log")
		for n := range 200 {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(dir, os.DirFS(made)); err != nil {
				t.Fatal(err)
			}
			what := testdisk.Damage(t, r, dir, func(name string) bool { return name != lockName })
			before := content(t, dir)
			l, recovery, err := Open(dir, Options{})
			if err != nil {
				var c *CorruptError
				if !errors.As(err, &c) || !strings.Contains(err.Error(), dir) || !strings.Contains(c.Remedy(), c.Segment) {
					t.Fatalf("%s (number %d): %v", what, n, err)
				}
				if after := content(t, dir); !slices.Equal(after, before) {
					t.Fatalf("%s (number %d): a log that was refused has changed", what, n)
				}
				if last := remedied(t, dir, c); last != c.Index-1 {
					t.Fatalf("%s (number %d): %d records behind the remedy: %s", what, n, last, c.Remedy())
				}
				counts["refused"]++
				continue
			}
			// Without a mark of the end, what is behind the last sync but one is open.
			got := 0
			err = l.read(1, func(index uint64, p []byte) error {
				if !bytes.Equal(p, records[index-1]) {
					t.Fatalf("%s (number %d): record %d is another one", what, n, index)
				}
				got++
				return nil
			})
			if err != nil {
				t.Fatalf("%s (number %d): %v", what, n, err)
			}
			switch {
			case got == len(records):
				counts["whole"]++
			case !killed:
				t.Fatalf("%s (number %d): %d records of %d, without an error", what, n, got, len(records))
			case recovery.Cut == 0 && !strings.HasPrefix(what, "cut"):
				t.Fatalf("%s (number %d): %d records of %d, and nothing is said to be cut", what, n, got, len(records))
			default:
				counts["end lost"]++
			}
			l.Close()
		}
	}
	t.Logf("%v", counts)
	if counts["refused"] < 100 || counts["whole"] == 0 {
		t.Errorf("%v", counts)
	}
}

// remedied does what a remedy says, and returns the number of the last record behind that.
func remedied(t *testing.T, dir string, c *CorruptError) uint64 {
	t.Helper()
	at := c.Segment
	var err error
	if strings.Contains(c.Remedy(), "remove "+at) {
		err = os.Remove(at)
	} else {
		err = os.Truncate(at, c.Offset)
	}
	names, globErr := filepath.Glob(filepath.Join(dir, "*"+Suffix))
	if err := errors.Join(err, globErr); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if name > at {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	l, r, err := Open(dir, Options{})
	if err != nil {
		t.Fatalf("%s: %v", c.Remedy(), err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return r.Last
}

// content returns the names and bytes of all files under dir, to be compared.
func content(t testing.TB, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "LOCK" {
			return err
		}
		b, err := os.ReadFile(path)
		all = append(all, path, string(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
