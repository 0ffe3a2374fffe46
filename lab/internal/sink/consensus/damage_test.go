package consensus

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/sluice-go/sluice/internal/testdisk"
	"github.com/sluice-go/sluice/lab/internal/sink/wal"
	"github.com/sluice-go/sluice/sluicetest"
)

// written runs a trio, and returns its directory and the records of each of its logs.
func written(t *testing.T) (dir string, records []string) {
	t.Helper()
	dir = testdisk.Dir(t)
	s, err := Open(Options{Dir: dir, Trio: true, heartbeat: soon, SegmentBytes: 8 << 10, Log: testLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := &cluster{t: t, stores: []*Store{s}}
	l := newLedger()
	for n := range 60 {
		c.mustPut(l, fmt.Sprint(n, strings.Repeat("x", n*10)), fmt.Sprint(n, " too"))
	}
	settle(t, func() []NodeStats { return s.Stats().Nodes })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	records = recovered(t, filepath.Join(dir, "1"))
	l.check(t, filepath.Join(dir, "1"), filepath.Join(dir, "2"), filepath.Join(dir, "3"))
	return dir, records
}

// readState opens a node's state and reads all of it, as raft does at its start.
func readState(dir string) (all []raft.Log, kept map[string][]byte, err error) {
	n := &node{id: "x", dir: dir, onFail: func() {}}
	if err := n.openState(wal.Options{}); err != nil {
		if n.log != nil {
			n.log.Close()
		}
		return nil, nil, fmt.Errorf("%w%s", err, remedy(err))
	}
	defer n.log.Close()
	last, _ := n.entries.LastIndex()
	for i := uint64(1); i <= last; i++ {
		var l raft.Log
		if err := n.entries.GetLog(i, &l); err != nil {
			return nil, nil, fmt.Errorf("%w%s", err, remedy(err))
		}
		all = append(all, l)
	}
	return all, n.votes.values, nil
}

func sameEntry(a, b raft.Log) bool {
	return a.Index == b.Index && a.Term == b.Term && a.Type == b.Type && string(a.Data) == string(b.Data) && string(a.Extensions) == string(b.Extensions)
}

// Whatever becomes of a node's files: what it gives to raft is what it stored, or it
// says which file is damaged and what to do.
func TestRandomDamagesOfANode(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(sluicetest.Seed(t), 5))
	made, _ := written(t)
	made = filepath.Join(made, "2")
	want, votes, err := readState(made)
	if err != nil || len(votes) == 0 {
		t.Fatal(votes, err)
	}
	counts := map[string]int{}
	for _, only := range []string{"", votesFile} {
		for _, killed := range []bool{false, true} {
			for n := range 200 {
				dir := filepath.Join(filepath.Dir(made), "copy")
				if err := errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(made))); err != nil {
					t.Fatal(err)
				}
				if killed {
					if err := os.Remove(lastSegment(t, dir)); err != nil {
						t.Fatal(err)
					}
				}
				what := testdisk.Damage(t, r, dir, func(name string) bool {
					return name != "LOCK" && (only == "" || name == only)
				})
				all, kept, err := readState(dir)
				switch {
				case err != nil:
					if !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "move it away") {
						t.Fatalf("%s (number %d): %v", what, n, err)
					}
					counts["refused "+only]++
				case !maps.EqualFunc(kept, votes, func(a, b []byte) bool { return string(a) == string(b) }):
					t.Fatalf("%s (number %d): votes %q, were %q", what, n, kept, votes)
				case len(all) < len(want) && !killed || !slices.EqualFunc(all, want[:len(all)], sameEntry):
					t.Fatalf("%s (number %d): %d entries, were %d", what, n, len(all), len(want))
				case len(all) < len(want):
					counts["end lost "+only]++
				default:
					counts["whole "+only]++
				}
			}
		}
	}
	t.Logf("%v", counts)
	// One copy of two can always be mended; a log has no second copy here.
	if counts["refused "] < 200 || counts["whole "+votesFile] < 200 {
		t.Errorf("%v", counts)
	}
}

// The same within a cluster: nothing is applied that is not what was stored, and the
// others go on.
func TestDamagedNodeNeverDiverges(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(sluicetest.Seed(t), 6))
	made, records := written(t)
	for n := range 8 {
		dir := testdisk.Dir(t)
		if err := os.CopyFS(dir, os.DirFS(made)); err != nil {
			t.Fatal(err)
		}
		what := testdisk.Damage(t, r, filepath.Join(dir, "2"), func(name string) bool { return name != "LOCK" })
		s, err := Open(Options{Dir: dir, Trio: true, heartbeat: soon, Log: testLog(t)})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		l := newLedger()
		(&cluster{t: t, stores: []*Store{s}}).mustPut(l, "after")
		settle(t, func() []NodeStats {
			return slices.DeleteFunc(s.Stats().Nodes, func(n NodeStats) bool { return n.State == "out" })
		})
		out := s.Stats().Nodes[1].State == "out" // also if what is damaged was read late
		if err := s.Close(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		dirs := []string{filepath.Join(dir, "1"), filepath.Join(dir, "3"), filepath.Join(dir, "2")}
		if out {
			dirs = dirs[:2]
		}
		l.check(t, dirs...)
		for _, dir := range dirs {
			// A leader that was replaced meanwhile leaves the record in doubt: it is sent again.
			got := recovered(t, dir)
			others := slices.ContainsFunc(got[len(records):], func(record string) bool { return record != "after" })
			if !slices.Equal(got[:len(records)], records) || len(got) == len(records) || others {
				t.Errorf("%s (number %d): %s has other records", what, n, dir)
			}
		}
	}
}
