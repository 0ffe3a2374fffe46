package aio

// Stats are the counters of one watcher. Those in the first group are current values,
// the others count since the watcher was made.
type Stats struct {
	Conns       int   // connections that the watcher holds
	Pending     int   // operations that are not complete
	QueuedBytes int64 // bytes in the write queues that are not yet written
	QueuedHeld  int64 // the memory of these queues, in bytes, as Options.QueueLimit counts it

	Delegated    uint64 // connections taken over
	Freed        uint64 // connections closed, by whatever way
	Reads        uint64 // reads completed, with or without an error
	Writes       uint64 // writes completed, with or without an error
	BytesRead    uint64
	BytesWritten uint64
	ReadCalls    uint64 // calls into the kernel, or of conn.Read, that read
	WriteCalls   uint64 // calls into the kernel, or of conn.Write, that write
	WaitCalls    uint64 // calls into the kernel that ask who is ready; 0 for Std
	Refused      uint64 // writes refused because of Options.QueueLimit
	Slow         uint64 // connections closed because of QueueClose
	Found        uint32 // connections that the program forgot: found by the collector
	Collected    uint32 // of those, how many have been closed
}
