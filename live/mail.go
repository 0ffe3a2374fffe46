package live

import "sync"

// A mailbox is where other goroutines put what they have for a loop.
type mailbox struct {
	wake chan struct{} // one token: there is something
	mu   sync.Mutex
	mail
}

type mail struct {
	added    []*Viewer
	asked    []*Viewer
	notified []*group
	frozen   *frozen
	stopping bool
}

// post changes what is there, and wakes the loop.
func (b *mailbox) post(put func(*mail)) {
	b.mu.Lock()
	put(&b.mail)
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// take moves everything into m, which is empty, and whose lists are used again. That the
// loop is to stop stays.
func (b *mailbox) take(m *mail) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*m, b.mail = b.mail, *m
	b.stopping = m.stopping
}

// takeAdded moves the new viewers alone.
func (b *mailbox) takeAdded() []*Viewer {
	b.mu.Lock()
	defer b.mu.Unlock()
	added := b.added
	b.added = nil
	return added
}

// reset empties the lists.
func (m *mail) reset() {
	clear(m.added)
	clear(m.asked)
	clear(m.notified)
	*m = mail{added: m.added[:0], asked: m.asked[:0], notified: m.notified[:0]}
}

// A frozen is a request to a loop to stop, and its answer.
type frozen struct {
	reached chan struct{} // closed when the loop stands still
	thaw    chan struct{} // closed to make it go on
}

// stand stands still.
func (f *frozen) stand() {
	close(f.reached)
	<-f.thaw
}
