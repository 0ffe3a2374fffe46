package op

// Counters are those of aio.Stats, which describes them, and has the same fields.
type Counters struct {
	Conns       int
	Pending     int
	QueuedBytes int64
	QueuedHeld  int64

	Delegated    uint64
	Freed        uint64
	Reads        uint64
	Writes       uint64
	BytesRead    uint64
	BytesWritten uint64
	ReadCalls    uint64
	WriteCalls   uint64
	WaitCalls    uint64
	Refused      uint64
	Slow         uint64
	Found        uint32
	Collected    uint32
}

// Count counts an operation of this kind that has ended.
func (c *Counters) Count(k Kind) {
	if k.IsWrite() {
		c.Writes++
	} else {
		c.Reads++
	}
}

// Slow says what becomes of the connections that lag in a write to many: it is
// aio.SlowPolicy.
type Slow int

// The policies, in the order of aio.SlowPolicy.
const (
	SlowQueue Slow = iota
	SlowSkip
	SlowClose
)

// Spread are the counts of aio.Spread, with the same fields.
type Spread struct {
	Written int
	Queued  int
	Skipped int
	Closed  int
	Failed  int
}
