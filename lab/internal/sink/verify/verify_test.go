package verify

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/sluicetest"

	"github.com/sluice-go/sluice/lab/internal/sink/acked"
	"github.com/sluice-go/sluice/lab/internal/sink/wal"
)

// payload is what a record of a number has.
func payload(index int) []byte { return fmt.Appendf(nil, "record %d", index) }

// makeLog writes a log of records 1 to n.
func makeLog(t *testing.T, dir string, n int) string {
	t.Helper()
	l, _, err := wal.Open(dir, wal.Options{SegmentBytes: int64(500 * max(1, n/50))})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if _, err := l.AppendBatch([][]byte{payload(i + 1)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// makeAcked writes what was acknowledged.
func makeAcked(t *testing.T, entries func(add func(index int, payload []byte))) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "acks")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := acked.NewWriter(f)
	entries(func(index int, p []byte) { w.Append(uint64(index), Sum(p), uint32(len(p))) })
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestWhatIsThereIsFound(t *testing.T) {
	dir := makeLog(t, t.TempDir(), 50)
	random := rand.New(rand.NewPCG(sluicetest.Seed(t), 1))
	file := makeAcked(t, func(add func(int, []byte)) {
		for _, i := range random.Perm(50)[:40] { // in any order
			add(i+1, payload(i+1))
		}
	})
	r, err := Check(t.Context(), []string{dir}, file)
	if err != nil {
		t.Fatal(err)
	}
	l, a := r.Logs[0], r.Acked
	if l.Records != 50 || l.First != 1 || l.Last != 50 || l.Segments < 3 || l.Cut != 0 || l.Dir != dir {
		t.Errorf("%+v", l)
	}
	if a.Entries != 40 || a.Found != 40 || a.Majority != 40 || a.Missing != 0 || a.Wrong != 0 || !a.Holds() {
		t.Errorf("%+v", a)
	}
}

func TestWhatIsNotThereIsMissing(t *testing.T) {
	dir := makeLog(t, t.TempDir(), 20)
	file := makeAcked(t, func(add func(int, []byte)) {
		add(0, nil)
		for i := 1; i <= 40; i++ {
			add(i, payload(i))
		}
		add(5, payload(6))        // other bytes
		add(6, payload(6)[:2])    // shorter
		add(7, payload(7))        // once more
		add(1<<30, []byte("far")) // far behind
	})
	r, err := Check(t.Context(), []string{dir}, file)
	if err != nil {
		t.Fatal(err)
	}
	a := r.Acked
	if a.Entries != 45 || a.Found != 21 || a.Missing != 22 || a.Wrong != 2 || a.Holds() {
		t.Errorf("%+v", a)
	}
	if !slices.Equal(a.FirstMissing, []uint64{0, 21, 22, 23, 24, 25, 26, 27, 28, 29}) || !slices.Equal(a.FirstWrong, []uint64{5, 6}) {
		t.Errorf("%v, %v", a.FirstMissing, a.FirstWrong)
	}
}

func TestNodesOfACluster(t *testing.T) {
	top := t.TempDir()
	for i, n := range []int{30, 20, 10} {
		makeLog(t, filepath.Join(top, fmt.Sprint(i+1)), n)
	}
	if err := os.Mkdir(filepath.Join(top, "raft"), 0o755); err != nil {
		t.Fatal(err)
	}
	dirs, err := nodes(top)
	if err != nil || len(dirs) != 3 || dirs[0] != filepath.Join(top, "1") {
		t.Fatalf("%q, %v", dirs, err)
	}
	if one, err := nodes(dirs[1]); err != nil || !slices.Equal(one, dirs[1:2]) {
		t.Errorf("%q, %v", one, err)
	}
	check := func(n int) *Acked {
		t.Helper()
		file := makeAcked(t, func(add func(int, []byte)) {
			for i := 1; i <= n; i++ {
				add(i, payload(i))
			}
		})
		r, err := Check(t.Context(), dirs, file)
		if err != nil || len(r.Logs) != 3 {
			t.Fatal(r, err)
		}
		return r.Acked
	}
	if a := check(30); !a.Holds() || a.Majority != 20 {
		t.Errorf("%+v", a)
	}
	if a := check(31); a.Holds() || a.Missing != 1 {
		t.Errorf("%+v", a)
	}
	// A node that has something else there.
	if err := os.RemoveAll(dirs[2]); err != nil {
		t.Fatal(err)
	}
	l, _, err := wal.Open(dirs[2], wal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l.AppendBatch([][]byte{payload(1), []byte("other")})
	l.Close()
	if a := check(30); a.Holds() || a.Wrong != 1 || a.FirstWrong[0] != 2 {
		t.Errorf("%+v", a)
	}
}

func TestTornAndDamagedLogs(t *testing.T) {
	dir := makeLog(t, t.TempDir(), 20)
	names, err := filepath.Glob(filepath.Join(dir, "*"+wal.Suffix))
	if err != nil {
		t.Fatal(err)
	}
	// As a kill leaves it: a log that was closed ends with an empty file, which proves
	// that what is before it was durable.
	last := names[len(names)-2]
	if err := os.Remove(names[len(names)-1]); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(last)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(last, info.Size()-1); err != nil {
		t.Fatal(err)
	}
	r, err := Check(t.Context(), []string{dir}, "")
	if err != nil || r.Acked != nil || r.Logs[0].Last != 19 || r.Logs[0].Cut == 0 || r.Logs[0].Segment != last || r.Logs[0].Reason == "" {
		t.Errorf("%+v, %v", r, err)
	}
	content, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)-1] ^= 1
	if err := os.WriteFile(names[0], content, 0o644); err != nil {
		t.Fatal(err)
	}
	// What comes before the damage counts, and what comes behind it, in another log, is judged.
	whole := makeLog(t, t.TempDir(), 20)
	file := makeAcked(t, func(add func(int, []byte)) {
		for i := 1; i <= 20; i++ {
			add(i, payload(i))
		}
	})
	nosuch := filepath.Join(t.TempDir(), "nosuch")
	r, err = Check(t.Context(), []string{nosuch, dir, whole}, file)
	if err != nil || len(r.Logs) != 3 || r.Broken() != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	if l := r.Logs[1]; l.Dir != dir || l.Records == 0 || l.Records >= 19 || !strings.Contains(l.Error, filepath.Base(names[0])) {
		t.Errorf("%+v", l)
	}
	if r.Logs[0].Dir != nosuch || r.Logs[0].Error == "" || r.Logs[2].Records != 20 || r.Logs[2].Error != "" {
		t.Errorf("%+v", r.Logs)
	}
	if a := r.Acked; !a.Holds() || a.Majority != r.Logs[1].Records {
		t.Errorf("%+v", a)
	}
}

func TestWhatCannotBeRead(t *testing.T) {
	empty := t.TempDir()
	for _, dir := range []string{empty, filepath.Join(empty, "nosuch")} {
		if _, err := nodes(dir); !errors.Is(err, ErrNoLog) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	dir := makeLog(t, t.TempDir(), 3)
	if _, err := Check(t.Context(), []string{dir}, filepath.Join(empty, "nosuch")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	makeLog(t, dir, 2000)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Check(ctx, []string{dir}, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Records that a node does not know to be committed are not compared with the other
// nodes: they may be from a leader that was replaced.
func TestUncommittedRecordsAreNotWrong(t *testing.T) {
	dirs := []string{makeLog(t, t.TempDir(), 3), t.TempDir()}
	if err := os.Mkdir(filepath.Join(dirs[1], "raft"), 0o755); err != nil {
		t.Fatal(err)
	}
	l, _, err := wal.Open(dirs[1], wal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range [][]byte{payload(1), payload(2), []byte("another")} {
		// An entry of raft: form, command, index, term, records before, committed, no
		// extensions; one record.
		b := binary.BigEndian.AppendUint64([]byte{2, 0}, uint64(i+1))
		b = binary.BigEndian.AppendUint64(b, 1)
		b = binary.BigEndian.AppendUint64(b, uint64(i))
		b = binary.BigEndian.AppendUint64(b, uint64(max(0, i-1)))
		b = binary.BigEndian.AppendUint32(b, 0)
		b = binary.BigEndian.AppendUint32(b, 1)
		b = binary.BigEndian.AppendUint32(b, uint32(len(p)))
		if _, err := l.AppendBatch([][]byte{append(b, p...)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	file := makeAcked(t, func(add func(int, []byte)) {
		for i := 1; i <= 3; i++ {
			add(i, payload(i))
		}
	})
	r, err := Check(t.Context(), dirs, file)
	if err != nil {
		t.Fatal(err)
	}
	if a := r.Acked; !a.Holds() || a.Wrong != 0 || a.Majority != 2 || r.Logs[1].Last != 3 {
		t.Errorf("%+v, %+v", a, r.Logs)
	}
}
