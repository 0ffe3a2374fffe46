package consensus

import (
	"errors"
	"fmt"

	"github.com/sluice-go/sluice/lab/internal/sink"
)

var (
	// ErrNotLeader is matched by the error of an append at a node that does not
	// lead. Its text names the node that does, where that is known. Nothing of the
	// append is in any log.
	ErrNotLeader = errors.New("consensus: not the leader")
	// ErrInDoubt is matched by the error of an append that was under way when the
	// leadership was lost: its records may be in the log or not.
	ErrInDoubt = errors.New("consensus: leadership lost while the records were under way")
	// ErrClosed is matched by the error of an append to a store that is closed,
	// or closes before it has taken the records from its queue.
	ErrClosed = sink.ErrClosed
	// ErrFailed is matched when a node is out because its disk refused a write.
	// It stays out until it is opened anew; with a trio, two of them are. It is a
	// sink.ErrFailed.
	ErrFailed = fmt.Errorf("consensus: node is out: %w", sink.ErrFailed)
	// ErrTooLong is matched by the error of an append whose records do not fit
	// into MaxBatch.
	ErrTooLong = errors.New("consensus: records too long")
	// ErrState is matched when a directory holds what does not belong to this
	// cluster, or only a part of what does.
	ErrState = errors.New("consensus: directory does not fit")
)

// A NotLeaderError is an ErrNotLeader that says who leads.
type NotLeaderError struct {
	Node   string // that refused
	Leader string // name of the leader, empty when there is none
	Addr   string // its raft address, as the peers have it
}

func (e *NotLeaderError) Error() string {
	if e.Leader == "" {
		return fmt.Sprintf("%v: %s knows of none, an election is under way or there is no majority", ErrNotLeader, e.Node)
	}
	return fmt.Sprintf("%v: %s is not, %s at %s is", ErrNotLeader, e.Node, e.Leader, e.Addr)
}

// Is makes the error match ErrNotLeader.
func (e *NotLeaderError) Is(target error) bool { return target == ErrNotLeader }
