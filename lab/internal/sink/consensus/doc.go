// Package consensus is a sink's store over raft: records are acknowledged when a
// majority of the nodes of a cluster has them on disk.
//
// A [Store] is one node, whose peers are in processes of their own, or all three
// (Options.Trio). Raft is hashicorp/raft, its log is BoltDB with an fsync for each
// transaction, and what it applies its entries to is a log of package wal in each
// node's directory, which ends up with the same records under the same numbers on
// all of them.
//
// # What an acknowledgement promises
//
// A record is acknowledged when the raft entry that it is in was committed and has been
// appended to the leader's own log. It was committed when a majority had synced it,
// because nothing else counts towards a majority:
//
//   - the leader stores an entry (LogStore.StoreLogs, in Raft.dispatchLogs) and only
//     then counts itself (commitment.match) and wakes those that replicate it;
//   - a follower stores the entries of a message (StoreLogs again, in
//     Raft.appendEntries) and only then answers that it succeeded, and the leader counts
//     it when that answer comes (updateLastAppended);
//   - an entry is committed at the index that more than half of the nodes have reached
//     (commitment.recalculate), and the future of Raft.Apply resolves when it has been
//     applied after that;
//   - BoltDB returns from a transaction after fdatasync of the pages, the write of the
//     meta page that makes them count, and another fdatasync (Tx.Commit); NoSync is
//     never set here.
//
// The node's own log is not synced for an acknowledgement: it is made good from the raft log,
// which is kept until a snapshot. A snapshot syncs the node's log and writes down
// how many records it has, nothing more; entries before it are then dropped, but for
// some. A node that needs records which no raft log has any more, because it was away
// for long or because its log is gone, gets them out of another node's log, from the
// first one that it lacks.
//
// What is in the log of a node follows from counting alone, see fsm: nothing
// is appended twice, and a batch that a crash has cut is completed.
//
// # When something fails
//
// An append at a node that does not lead is an [ErrNotLeader], which names the
// leader. When the leadership is lost the appends that are under way are [ErrInDoubt]: they may
// be in the log, and are not sent again by the store. A node whose disk refuses a write is
// out until it is opened anew; the others go on while they are a majority.
//
// Records given to Append are transferred, bytes given to a log borrowed. A Store
// may be used by many goroutines at once. Nodes trust whoever reaches their port:
// it belongs on loopback or on a network of its own.
package consensus
