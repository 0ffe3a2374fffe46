// Package consensus is a sink's store over raft: records are acknowledged when a
// majority of the nodes of a cluster has them on disk.
//
// A [Store] is one node, whose peers are in processes of their own, or all three
// (Options.Trio). Raft is hashicorp/raft. Its log is a log of package wal in each node's
// directory, in which entry n is record n: what a client sends is written once on each
// node, with a checksum that is compared whenever it is read. Entries are never removed
// in front, and there are no snapshots: a node that was away, or starts with an empty
// directory, gets all that it lacks as entries. The numbers of the clients' records
// follow from counting.
//
// # What an acknowledgement promises
//
// A record is acknowledged when the raft entry that it is in was committed, which is
// when a majority has synced it, because nothing else counts towards a majority:
//
//   - the leader stores an entry (LogStore.StoreLogs, in Raft.dispatchLogs) and only
//     then counts itself (commitment.match) and wakes those that replicate it;
//   - a follower stores the entries of a message (StoreLogs again, in
//     Raft.appendEntries) and only then answers that it succeeded, and the leader counts
//     it when that answer comes (updateLastAppended);
//   - an entry is committed at the index that more than half of the nodes have reached
//     (commitment.recalculate), and the future of Raft.Apply resolves when it has been
//     applied after that;
//   - StoreLogs returns when the log has been synced.
//
// Term and votes are in a small file of their own, twice, each copy with a checksum.
//
// docs/durability.md says what follows when files are damaged, the leader goes or a disk
// refuses a write. An append at a node that does not lead is an [ErrNotLeader]; one that was
// under way when the leadership was lost is an [ErrInDoubt], and not sent again by the store.
//
// Records given to Append are transferred. A Store may be used by many goroutines at
// once. Nodes trust every connection to their port: it belongs on loopback or on a
// network of its own.
package consensus
