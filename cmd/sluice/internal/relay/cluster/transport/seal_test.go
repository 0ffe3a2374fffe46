package transport

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"
)

var noon = time.Unix(1_700_000_000, 0)

func ends() (*sealer, *opener) {
	key := derive([]byte("a secret of the tests"), "messages")
	return &sealer{key: key, from: "a", run: 7}, &opener{keys: [][]byte{key}, nodes: map[string]*seen{}}
}

func TestSealedMessagesOpen(t *testing.T) {
	s, o := ends()
	for i := range 200 {
		body := bytes.Repeat([]byte{byte(i)}, i)
		from, got, err := o.open("b", s.seal("b", body, noon), noon)
		if err != nil || from != "a" || !bytes.Equal(got, body) {
			t.Fatalf("%d: from %q, %x, %v", i, from, got, err)
		}
	}
}

// Every bit counts, and so does the node that it is sent to.
func TestAlteredMessagesAreRefused(t *testing.T) {
	s, o := ends()
	m := s.seal("b", []byte("body"), noon)
	for i := range len(m) {
		for bit := range 8 {
			bad := bytes.Clone(m)
			bad[i] ^= 1 << bit
			if _, _, err := o.open("b", bad, noon); !errors.Is(err, ErrForged) && !errors.Is(err, ErrShort) {
				t.Fatalf("bit %d of byte %d: %v", bit, i, err)
			}
		}
	}
	for n := range m {
		if _, _, err := o.open("b", m[:n], noon); err == nil {
			t.Fatalf("the first %d bytes are accepted", n)
		}
	}
	for _, to := range []string{"", "c", "bb"} {
		if _, _, err := o.open(to, m, noon); !errors.Is(err, ErrForged) {
			t.Errorf("sent on to %q: %v", to, err)
		}
	}
	other := sealer{key: derive([]byte("another secret"), "messages"), from: "a", run: 7}
	if _, _, err := o.open("b", other.seal("b", nil, noon), noon); !errors.Is(err, ErrForged) {
		t.Errorf("another secret: %v", err)
	}
	if _, _, err := o.open("b", m, noon); err != nil {
		t.Errorf("the message itself: %v", err)
	}
}

func TestRepeatedMessagesAreRefused(t *testing.T) {
	s, o := ends()
	var all [][]byte
	for range 300 {
		all = append(all, s.seal("", nil, noon))
	}
	open := func(i int) error {
		_, _, err := o.open("", all[i], noon)
		return err
	}
	// Neighbours change places, then everything comes again.
	for i := 0; i < len(all); i += 2 {
		if err := errors.Join(open(i+1), open(i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range all {
		if err := open(i); !errors.Is(err, ErrReplay) {
			t.Fatalf("message %d again: %v", i, err)
		}
	}
	later := sealer{key: s.key, from: "a", run: 8}
	if _, _, err := o.open("", later.seal("", nil, noon), noon); err != nil {
		t.Errorf("the node's next run: %v", err)
	}
	if _, _, err := o.open("", s.seal("", nil, noon), noon); !errors.Is(err, ErrReplay) {
		t.Errorf("its earlier run: %v", err)
	}
}

func TestClocksMayDifferByTenSeconds(t *testing.T) {
	s, o := ends()
	for apart, ok := range map[time.Duration]bool{10 * time.Second: true, -10 * time.Second: true, time.Minute: false, -time.Minute: false} {
		_, _, err := o.open("", s.seal("", nil, noon.Add(apart)), noon)
		if (err == nil) != ok || !ok && !errors.Is(err, ErrOld) {
			t.Errorf("%v: %v", apart, err)
		}
	}
}

// What is remembered of nodes does not grow.
func TestOpenerForgets(t *testing.T) {
	s, o := ends()
	for i := range 1000 {
		now := noon.Add(time.Duration(i) * time.Second)
		s.from = fmt.Sprint("n", i)
		if _, _, err := o.open("", s.seal("", nil, now), now); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(o.nodes); n > 62 {
		t.Errorf("%d nodes are remembered", n)
	}
}

func FuzzOpen(f *testing.F) {
	s, _ := ends()
	f.Add(s.seal("", []byte("x"), noon))
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{255}, 40))
	f.Fuzz(func(t *testing.T, m []byte) {
		_, o := ends()
		o.open("b", m, noon)
	})
}

// A node whose clock was ahead has a smaller run after its next start. It is heard again when
// all messages of the earlier run are too old to come again.
func TestSmallerRunIsHeardWhenTheLargerIsOld(t *testing.T) {
	s, o := ends()
	late := s.seal("b", nil, noon)
	if _, _, err := o.open("b", late, noon); err != nil {
		t.Fatal(err)
	}
	next := sealer{key: s.key, from: "a", run: s.run - 1}
	if _, _, err := o.open("b", next.seal("b", nil, noon.Add(time.Second)), noon.Add(time.Second)); !errors.Is(err, ErrReplay) {
		t.Errorf("at once: %v", err)
	}
	after := noon.Add(2*skew + time.Second)
	if _, _, err := o.open("b", next.seal("b", nil, after), after); err != nil {
		t.Errorf("later: %v", err)
	}
	if _, _, err := o.open("b", late, after); err == nil {
		t.Error("a message of the earlier run has come again")
	}
}

// A node that comes back with its clock behind is heard when the run before has been silent
// for as long as none is that lives. From then on that one's messages are refused.
func TestSmallerRunIsHeardWhenTheLargerIsSilent(t *testing.T) {
	s, o := ends()
	var of [][]byte // the earlier run's
	for range 3 {
		of = append(of, s.seal("b", nil, noon))
	}
	next := sealer{key: s.key, from: "a", run: s.run - 1}
	open := func(m []byte, at time.Time) error {
		_, _, err := o.open("b", m, at)
		return err
	}
	if err := open(of[1], noon); err != nil {
		t.Fatal(err)
	}
	const behind = 16 * time.Second
	at := noon.Add(quiet)
	if err := open(next.seal("b", nil, at.Add(-behind)), at); !errors.Is(err, ErrReplay) {
		t.Errorf("while the earlier run may live: %v", err)
	}
	if err := open(of[1], at); !errors.Is(err, ErrReplay) { // it is silent for all that
		t.Errorf("again: %v", err)
	}
	at = at.Add(time.Millisecond)
	for range 2 {
		if err := open(next.seal("b", nil, at.Add(-behind)), at); err != nil {
			t.Errorf("when it is silent: %v", err)
		}
	}
	for range 3 {
		at = at.Add(quiet + time.Millisecond) // the node has nothing to say, or is not heard
		for i := range of {
			if err := open(of[i], at); !errors.Is(err, ErrReplay) {
				t.Errorf("message %d of the earlier run, %v later: %v", i, at.Sub(noon), err)
			}
		}
	}
}

// With the secret anything can be said, but what is remembered of runs does not grow.
func TestOpenerForgetsRuns(t *testing.T) {
	s, o := ends()
	for i := range 1000 {
		s.run++
		if _, _, err := o.open("", s.seal("", nil, noon), noon); err != nil {
			t.Fatal(err)
		}
		if n := len(o.nodes["a"].earlier); n > maxEarlier {
			t.Fatalf("%d runs are remembered after %d", n, i)
		}
	}
}
