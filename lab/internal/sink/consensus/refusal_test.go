package consensus

import (
	"bytes"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/sluice-go/sluice/internal/loopback"
	"github.com/sluice-go/sluice/internal/testdisk"
)

// notes are what was logged; safe for concurrent use.
type notes struct {
	mu    sync.Mutex
	bytes bytes.Buffer
}

func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.bytes.Write(p)
}

func (n *notes) contain(text string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return bytes.Contains(n.bytes.Bytes(), []byte(text))
}

// refused runs a leader of two followers, one of which always follows. The other answers
// some entries as the test has it, when more have come behind them, and must then get all.
func refused(t *testing.T, times int, answer func(*follower, *raft.AppendEntriesRequest, *raft.AppendEntriesResponse)) {
	follows, refuses := newFollower(t, "b", 0), newFollower(t, "c", 0)
	said := new(notes)
	s, err := Open(Options{
		Dir: testdisk.Dir(t), ID: "a", Peers: []Peer{{"a", loopback.Free(t)}, follows.peer, refuses.peer},
		heartbeat: soon, leaderWait: time.Second, Log: slog.New(slog.NewTextHandler(said, nil)), shutdown: 20 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l := newLedger()
	c := &cluster{t: t, stores: []*Store{s}}
	c.mustPut(l, "before")
	stop := c.load(l, "load", func() []*Store { return c.stores })
	defer stop()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	hold := func(f func(*raft.AppendEntriesRequest, *raft.AppendEntriesResponse)) {
		select {
		case refuses.hold <- f:
		case <-deadline.C:
			t.Fatal("no entries come to the node")
		}
	}
	for n := range times {
		hold(nil)
		c.await(l, 10)
		want := s.nodes[0].log.LastIndex()
		hold(func(request *raft.AppendEntriesRequest, response *raft.AppendEntriesResponse) {
			answer(refuses, request, response)
		})
		eventually(t, func() string {
			if have := refuses.last.Load(); have < want {
				return fmt.Sprintf("after refusal %d the node has entry %d of %d", n+1, have, want)
			}
			return ""
		})
	}
	stop()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if said.contain("raft has not ended in time") {
		t.Error("raft has not ended")
	}
}

// What a follower refuses is sent again, and does not stop what comes behind it: one whose
// disk is full says so once, and takes everything when it has been started again.
func TestRefusedEntriesAreSentAgain(t *testing.T) {
	t.Parallel()
	refused(t, 20, func(_ *follower, _ *raft.AppendEntriesRequest, response *raft.AppendEntriesResponse) {
		response.Success = false
	})
}

// A leader that hears of a newer term under load ends what it sends: it can lead again, and
// ends when it is closed.
func TestLeaderHearsOfANewerTermUnderLoad(t *testing.T) {
	t.Parallel()
	refused(t, 6, func(f *follower, request *raft.AppendEntriesRequest, response *raft.AppendEntriesResponse) {
		f.term.Store(max(f.term.Load(), request.Term+1))
		response.Term = f.term.Load()
	})
}
