package mem

import (
	"bytes"
	"fmt"
	"sync"
)

// poison is what released memory is overwritten with.
const poison = 0xDB

// quarantineBytes is how much released memory is kept back before the oldest
// may be used again.
const quarantineBytes = 16 << 20

// A quarantine keeps released blocks for a while and checks that they are not
// written to. It exists for LeakParanoid and for builds with the
// invariants tag.
type quarantine struct {
	pattern []byte

	mu    sync.Mutex
	queue []*block
	bytes int
}

func (q *quarantine) init() {
	q.pattern = bytes.Repeat([]byte{poison}, 4096)
}

// take keeps b back, and sends home as many of the oldest blocks as there is
// no room for any more.
func (q *quarantine) take(b *block) {
	q.poison(b)
	q.mu.Lock()
	q.queue = append(q.queue, b)
	q.bytes += len(b.data)
	for q.bytes > quarantineBytes {
		old := q.pop()
		q.mu.Unlock()
		q.check(old)
		old.home.pool.Put(old)
		q.mu.Lock()
	}
	q.mu.Unlock()
}

func (q *quarantine) poison(b *block) {
	for p := b.data; len(p) > 0; {
		p = p[copy(p, q.pattern):]
	}
}

// pop is called with mu held and a queue that is not empty.
func (q *quarantine) pop() *block {
	b := q.queue[0]
	q.queue[0] = nil
	q.queue = q.queue[1:]
	q.bytes -= len(b.data)
	return b
}

func (q *quarantine) check(b *block) {
	for i := 0; i < len(b.data); {
		n := min(len(q.pattern), len(b.data)-i)
		if !bytes.Equal(b.data[i:i+n], q.pattern[:n]) {
			for b.data[i] == poison {
				i++
			}
			panic(fmt.Sprintf("mem: memory was written after its Release: byte %d of a block of %d", i, len(b.data)))
		}
		i += n
	}
}

// flush checks and drops all that is kept back.
func (q *quarantine) flush() {
	for {
		q.mu.Lock()
		if len(q.queue) == 0 {
			q.mu.Unlock()
			return
		}
		b := q.pop()
		q.mu.Unlock()
		q.check(b)
		b.home.retire(b.gauge, true)
	}
}
