package consensus

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/sluice-go/sluice/lab/internal/sink/wal"
)

func command(records ...string) []byte {
	var list [][]byte
	for _, r := range records {
		list = append(list, []byte(r))
	}
	return appendRecords(nil, list)
}

func FuzzEntry(f *testing.F) {
	e := entry{Log: raft.Log{Index: 7, Term: 3, Data: command("a", "", "ccc"), Extensions: []byte("x")}, before: 9, committed: 6}
	f.Add(uint64(7), e.append(nil))
	f.Add(uint64(8), e.append(nil))
	f.Add(uint64(7), e.append(nil)[:40])
	f.Add(uint64(1), []byte{entryForm})
	f.Fuzz(func(t *testing.T, index uint64, b []byte) {
		var e entry
		if err := e.parse(index, b); err != nil {
			if !errors.Is(err, errEntry) {
				t.Fatal(err)
			}
			return
		}
		if again := e.append(nil); e.Index != index || e.committed >= index || !slices.Equal(again, b) {
			t.Fatalf("% x became % x", b, again)
		}
		records, err := parseRecords(e.Data)
		if err != nil {
			return
		}
		var texts []string
		for _, r := range records {
			texts = append(texts, string(r))
		}
		if !slices.Equal(command(texts...), e.Data) {
			t.Fatalf("% x became %q", e.Data, texts)
		}
	})
}

// Scan reports which records a node has beyond the last entry that it knew to be committed.
func TestScanKnowsWhatWasCommitted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := &node{id: "x", dir: dir, onFail: func() {}}
	if err := n.openState(wal.Options{}); err != nil {
		t.Fatal(err)
	}
	f := &fsm{fail: func(err error) { t.Error(err) }, entries: n.entries}
	store := func(index uint64, kind raft.LogType, data []byte) *raft.Log {
		l := &raft.Log{Index: index, Term: 1, Type: kind, Data: data}
		if err := n.entries.StoreLog(l); err != nil {
			t.Fatal(err)
		}
		return l
	}
	store(1, raft.LogConfiguration, []byte("members"))
	f.Apply(store(2, raft.LogCommand, command("one", "two")))
	store(3, raft.LogCommand, command("three"))
	store(4, raft.LogNoop, nil)
	store(5, raft.LogCommand, command("four"))
	if err := n.entries.DeleteRange(5, 5); err != nil {
		t.Fatal(err)
	}
	store(5, raft.LogCommand, command("FOUR", "five"))
	if got := n.entries.lastRecord(); got != 5 {
		t.Errorf("the last record is %d", got)
	}
	if err := errors.Join(n.votes.SetUint64([]byte(keyTerm), 1), n.log.Close()); err != nil {
		t.Fatal(err)
	}
	var all []string
	c, err := Scan(dir, func(_ uint64, r []byte) error {
		all = append(all, string(r))
		return nil
	})
	if err != nil || c.Last != 5 || c.Committed != 2 || !slices.Equal(all, []string{"one", "two", "three", "FOUR", "five"}) {
		t.Errorf("%+v, %q, %v", c, all, err)
	}
	if !IsNode(dir) || IsNode(filepath.Dir(dir)) {
		t.Error("a node's directory is not known for one")
	}
}
