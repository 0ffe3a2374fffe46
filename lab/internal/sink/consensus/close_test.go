package consensus

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/testdisk"
	"github.com/sluice-go/sluice/lab/internal/sink"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// Everything that was given away is released, and every done is called once, also
// when there is no majority.
func TestEveryAppendIsAnswered(t *testing.T) {
	alloc := mem.New(mem.Options{Name: "records"})
	sluicetest.NoLeaks(t, alloc)
	c := newCluster(t, func(o *Options) { o.leaderWait = 300 * time.Millisecond; o.batchBytes = 5000 })
	c.start(0, 1, 2)
	l := newLedger()
	c.mustPut(l, "before")
	leader := c.leader()
	s := c.stores[leader]
	answers := make(chan error, 1000)
	add := func(n int) {
		for range n {
			records := []sink.Record{alloc.Get(1000), alloc.Get(10)}
			s.Append(records, func(_ uint64, err error) { answers <- err })
		}
	}
	add(100)
	for i := range c.stores {
		if i != leader {
			c.kill(i)
		}
	}
	add(100)
	lost := 0
	for n := range 200 {
		select {
		case err := <-answers:
			switch {
			case err == nil:
			case errors.Is(err, ErrInDoubt), errors.Is(err, ErrNotLeader):
				lost++
			default:
				t.Errorf("append %d: %v", n, err)
			}
		case <-time.After(limit):
			t.Fatalf("%d of 200 appends were answered", n)
		}
	}
	if lost < 100 {
		t.Errorf("%d appends failed, 100 had no majority", lost)
	}
	add(50)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if len(answers) != 50 {
		t.Errorf("%d answers when it was closed, of 50", len(answers))
	}
	for range len(answers) {
		if err := <-answers; !errors.Is(err, ErrNotLeader) && !errors.Is(err, ErrClosed) && !errors.Is(err, ErrInDoubt) {
			t.Errorf("closing answers %v", err)
		}
	}
}

func TestCloseFinishesWhatWasAppended(t *testing.T) {
	t.Parallel()
	s, err := Open(Options{Dir: testdisk.Dir(t), Trio: true, Log: testLog(t), batchBytes: 2000})
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, stores: []*Store{s}}
	c.mustPut(newLedger(), "somebody leads")
	answers := make(chan error, 50)
	next := uint64(1)
	for range cap(answers) {
		s.Append([]sink.Record{mem.Default().Get(500), mem.Default().Get(0)}, func(first uint64, err error) {
			// One after the other, in the order of the calls.
			if err == nil && first < next {
				err = fmt.Errorf("number %d, the one before had %d", first, next-2)
			}
			if err == nil {
				next = first + 2
			}
			answers <- err
		})
	}
	began := time.Now()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	slow := time.Since(began) > drainTimeout
	for n := range cap(answers) {
		select {
		case err := <-answers:
			// A leader that gets no time may be given up.
			if err != nil && !(slow && errors.Is(err, ErrClosed)) && !errors.Is(err, ErrInDoubt) && !errors.Is(err, ErrNotLeader) {
				t.Errorf("append %d: %v", n, err)
			}
		default:
			t.Fatalf("append %d was not answered when Close returned", n)
		}
	}
	if err := s.Close(); err != nil {
		t.Errorf("the second Close: %v", err)
	}
}

func TestRecordsTooLong(t *testing.T) {
	t.Parallel()
	s, err := Open(Options{Dir: testdisk.Dir(t), Trio: true, heartbeat: soon, Log: testLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	answer := make(chan error, 1)
	released := make(chan struct{})
	s.Append([]sink.Record{mem.Wrap(make([]byte, MaxBatch+1), func() { close(released) })},
		func(_ uint64, err error) { answer <- err })
	if err := <-answer; !errors.Is(err, ErrTooLong) || errors.Is(err, sink.ErrFailed) {
		t.Errorf("answered %v", err)
	}
	<-released
	// What is longer than a batch has one of its own.
	c := &cluster{t: t, stores: []*Store{s}}
	c.mustPut(newLedger(), strings.Repeat("long ", 500_000))
}

func TestWindowSaysWhatIsPromised(t *testing.T) {
	for _, test := range []struct {
		o    Options
		want string
	}{
		{Options{Trio: true}, "2 of 3"},
		{Options{Peers: make([]Peer, 5)}, "3 of 5"},
	} {
		s := &Store{options: test.o.withDefaults()}
		if got := s.describe(); !strings.Contains(got, test.want) || strings.Contains(got, "\n") {
			t.Errorf("%q does not say %q in one line", got, test.want)
		}
	}
}
