package sink

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/mem"
)

// sinkWait bounds every wait of a test that is not on virtual time.
const sinkWait = time.Minute

// A fakeLog is a Log in memory, whose calls can be held up and made to fail.
type fakeLog struct {
	mu      sync.Mutex
	records []string
	durable uint64
	batches []int // records of each AppendBatch
	syncs   int
	closed  int
	fail    map[string]error // of "append", "sync" or "close"

	appending, syncing chan chan bool // if not nil, a call sends a channel and waits for what comes on it
}

func (l *fakeLog) hold(c chan chan bool) {
	if c != nil {
		leave := make(chan bool)
		c <- leave
		<-leave
	}
}

func (l *fakeLog) AppendBatch(records [][]byte) (uint64, error) {
	l.hold(l.appending)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.fail["append"]; err != nil {
		return 0, err
	}
	first := uint64(len(l.records) + 1)
	for _, r := range records {
		l.records = append(l.records, string(r))
	}
	l.batches = append(l.batches, len(records))
	return first, nil
}

func (l *fakeLog) Sync() error {
	l.mu.Lock()
	last := uint64(len(l.records))
	l.mu.Unlock()
	l.hold(l.syncing)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.syncs++
	if err := l.fail["sync"]; err != nil {
		return err
	}
	l.durable = last
	return nil
}

func (l *fakeLog) LastIndex() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return uint64(len(l.records))
}

func (l *fakeLog) DurableIndex() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.durable
}

func (l *fakeLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed++
	l.durable = uint64(len(l.records))
	return l.fail["close"]
}

func (l *fakeLog) failWith(what string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail == nil {
		l.fail = map[string]error{}
	}
	l.fail[what] = err
}

// A reply is what done was called with.
type reply struct {
	first uint64
	err   error
}

// record makes a record of counted memory.
func record(text string) Record {
	b := mem.Default().Get(len(text))
	copy(b.Bytes(), text)
	return b
}

// give appends records and returns where the reply will be.
func give(s Store, texts ...string) <-chan reply {
	c := make(chan reply, 2) // a second reply would show
	var records []Record
	for _, t := range texts {
		records = append(records, record(t))
	}
	s.Append(records, func(first uint64, err error) { c <- reply{first, err} })
	clear(records)
	return c
}

// receive waits for a value.
func receive[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	late := time.NewTimer(sinkWait)
	defer late.Stop()
	select {
	case v := <-c:
		return v
	case <-late.C:
		t.Fatalf("no %s within %v", what, sinkWait)
		panic("unreachable")
	}
}

// none checks that nothing has come.
func none[T any](t testing.TB, what string, c <-chan T) {
	t.Helper()
	select {
	case v := <-c:
		t.Fatalf("%s: %v", what, v)
	default:
	}
}

// A heldStore keeps calls until a test answers them.
type heldStore struct {
	mu    sync.Mutex
	calls []heldCall
	came  chan int // records of each call, when it has come
}

type heldCall struct {
	texts []string
	done  func(uint64, error)
}

func newHeldStore() *heldStore { return &heldStore{came: make(chan int, 10_000)} }

func (s *heldStore) Append(records []Record, done func(uint64, error)) {
	var c heldCall
	for i := range records {
		c.texts = append(c.texts, string(records[i].Bytes()))
		records[i].Release()
	}
	c.done = done
	s.mu.Lock()
	s.calls = append(s.calls, c)
	s.mu.Unlock()
	s.came <- len(records)
}

func (s *heldStore) Failed() <-chan struct{} { return nil }

func (s *heldStore) Err() error     { return nil }
func (s *heldStore) Window() string { return "held" }
func (s *heldStore) Close() error   { return nil }

// wait waits until n records have come.
func (s *heldStore) wait(t testing.TB, n int) {
	t.Helper()
	for n > 0 {
		n -= receive(t, "record", s.came)
	}
}

// frame puts a length before a payload.
func frame(payload string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(payload))), payload...)
}

// answers reads so many answers.
func answers(t testing.TB, r io.Reader, n int) (list []uint64) {
	t.Helper()
	for range n {
		var b [8]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			t.Fatalf("after %d of %d answers: %v", len(list), n, err)
		}
		list = append(list, binary.BigEndian.Uint64(b[:]))
	}
	return list
}

// ended checks that a connection ends without another answer.
func ended(t testing.TB, r io.Reader) {
	t.Helper()
	var b [8]byte
	if n, err := r.Read(b[:]); n > 0 || err == nil {
		t.Errorf("%d more bytes, %v", n, err)
	} else if e := net.Error(nil); errors.As(err, &e) && e.Timeout() {
		t.Errorf("the connection goes on")
	}
}
