package load

import (
	"bytes"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/lab/internal/load/wire"
)

// encoded is a request of echo, frame or ack, put down independently of package wire:
// of run, connection and request.
func encoded(p *Plan, run, conn uint32, seq uint64, size int) []byte {
	var stamp []byte
	stamp = binary.BigEndian.AppendUint32(stamp, run)
	stamp = binary.BigEndian.AppendUint32(stamp, conn)
	stamp = binary.BigEndian.AppendUint64(stamp, seq)
	var seed [32]byte
	binary.BigEndian.PutUint64(seed[:], p.Seed)
	payload := make([]byte, max(16, p.Sizes.Max))
	rand.NewChaCha8(seed).Read(payload)
	payload = payload[:size]
	if size < 16 {
		payload = stamp[16-size:]
	} else {
		copy(payload, stamp)
	}
	if p.Protocol == Echo {
		return payload
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(size)), payload...)
}

// pipelineOf makes pipeline number of a plan.
func pipelineOf(p *Plan, run uint32, number int) *pipeline {
	t, err := wire.ParseTarget("127.0.0.1:1", &wire.Options{})
	if err != nil {
		panic(err)
	}
	content := wire.NewContent(p.Seed, run, p.Sizes.Max)
	return newPipeline(p, number, false, func() wire.Protocol { return t.Protocol(string(p.Protocol), content, p.Verify) })
}

// Random histories of a pipeline are compared with a plain list. The pipeline sends the requests
// in order, however many bytes are written at once, and finds one answer for each
// request, in whatever pieces the answers come.
func TestPipelineHistories(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for history := range 300 {
		p := Default()
		p.Protocol = []Protocol{Echo, Frame, Ack}[rng.IntN(3)]
		p.Depth = 1 + rng.IntN(9)
		p.Verify = p.Protocol != Ack && rng.IntN(2) == 0
		longest := []int{3, 30, 300, 5000}[rng.IntN(4)]
		p.Sizes = Sizes{Min: 1, Max: longest}
		run := rng.Uint32()
		l := pipelineOf(&p, run, rng.IntN(100))
		wireLen := func(size int) int { return len(encoded(&p, 0, 0, 0, size)) }
		scratch := make([]byte, 1+rng.IntN(3000))
		var sentBytes, answers, expected []byte // on its way; to come back; all that was begun and not sent
		begun, answered, now := 0, 0, int64(0)
		var sent []request
		for range 300 {
			now++
			switch rng.IntN(4) {
			case 0:
				if l.next() == never {
					if begun-answered != p.Depth {
						t.Fatalf("history %d: no room with %d under way of %d", history, begun-answered, p.Depth)
					}
					continue
				}
				r, _ := l.begin(now)
				if r.ideal != now {
					t.Fatalf("history %d: a closed loop is late: %+v", history, *r)
				}
				if r.Seq != uint64(begun) || r.sent != now || r.intended != now {
					t.Fatalf("history %d: %+v at %d", history, *r, now)
				}
				sent = append(sent, *r)
				expected = append(expected, encoded(&p, run, l.number, r.Seq, r.Size)...)
				begun++
			case 1:
				got := l.pending(scratch)
				if len(got) > len(expected) || !bytes.Equal(got, expected[:len(got)]) || (len(got) == 0) != (len(expected) == 0) {
					t.Fatalf("history %d: %d bytes pending of %d are not those that come next", history, len(got), len(expected))
				}
				n := rng.IntN(len(got) + 1)
				sentBytes = append(sentBytes, got[:n]...)
				expected = expected[n:]
				l.gone(n)
			case 2:
				// The target answers one whole request.
				size := -1
				if len(sent) > answered {
					size = sent[answered].Size
				}
				if size < 0 || len(answers) > 0 || len(sentBytes) < wireLen(size) {
					continue
				}
				if p.Protocol == Ack {
					answers = binary.BigEndian.AppendUint64(nil, uint64(answered)*7)
				} else {
					answers = bytes.Clone(sentBytes[:wireLen(size)])
				}
				sentBytes = sentBytes[wireLen(size):]
			case 3:
				if len(answers) == 0 {
					continue
				}
				n := 1 + rng.IntN(len(answers))
				rest, whole, err := l.take(answers[:n])
				if err != nil || len(rest) > 0 || whole != (n == len(answers)) {
					t.Fatalf("history %d: took %d of %d: %d left, whole %v, %v", history, n, len(answers), len(rest), whole, err)
				}
				answers = answers[n:]
				if whole {
					if p.Protocol == Ack && l.protocol.(wire.Acknowledger).Number() != uint64(answered)*7 {
						t.Fatalf("history %d: acknowledged as %d", history, l.protocol.(wire.Acknowledger).Number())
					}
					if r := l.answered(now); r.Request.Seq != sent[answered].Seq || r.intended != sent[answered].intended || r.outcome.Payload != r.Size {
						t.Fatalf("history %d: answered %+v, sent %+v", history, r, sent[answered])
					}
					answered++
				}
			}
		}
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	for _, c := range []struct {
		protocol Protocol
		verify   bool
		change   func(p []byte) []byte
		wrong    bool
	}{
		{Frame, false, func(p []byte) []byte { return p }, false},
		{Frame, false, func(p []byte) []byte { p[50] ^= 1; return p }, false},
		{Frame, true, func(p []byte) []byte { p[50] ^= 1; return p }, true},
		{Frame, true, func(p []byte) []byte { p[5] ^= 1; return p }, true},
		{Frame, false, func(p []byte) []byte { p[0] ^= 1; return p }, true},
		{Frame, false, func(p []byte) []byte { p[3] ^= 1; return p }, true},
		{Echo, true, func(p []byte) []byte { p[0] ^= 1; return p }, true},
		{Echo, false, func(p []byte) []byte { return append(p, 1) }, true},
		{Ack, false, func(p []byte) []byte { return p[:9] }, true},
	} {
		p := Default()
		p.Protocol, p.Verify = c.protocol, c.verify
		l := pipelineOf(&p, 1, 0)
		l.begin(1)
		sent := bytes.Clone(l.pending(make([]byte, 1000)))
		l.gone(len(sent))
		var err error
		for answer := c.change(sent); len(answer) > 0 && err == nil; {
			var whole bool
			if answer, whole, err = l.take(answer); whole {
				l.answered(2)
			}
		}
		if (err != nil) != c.wrong || err != nil && !errors.Is(err, ErrAnswer) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestAnAnswerBeforeTheRequestIsNone(t *testing.T) {
	p := Default()
	p.Protocol = Echo
	l := pipelineOf(&p, 1, 0)
	l.begin(1)
	sent := bytes.Clone(l.pending(make([]byte, 1000)))
	l.gone(60)
	if _, _, err := l.take(sent[:60]); err != nil {
		t.Error(err)
	}
	if _, _, err := l.take(sent[60:61]); !errors.Is(err, ErrAnswer) {
		t.Error(err)
	}
	// The server's reason is in it.
	if _, _, err := pipelineOf(&p, 1, 0).take([]byte("-ERR max number of clients reached\r\n")); err == nil || !strings.Contains(err.Error(), `"-ERR max number of clients`) {
		t.Error(err)
	}
}

// A server of HTTP may answer before it has the whole body, and keep the connection: the rest is sent nevertheless.
func TestTheRestOfAnAnsweredRequestIsSent(t *testing.T) {
	target, err := wire.ParseTarget("http://127.0.0.1:1/", &wire.Options{HTTP: &wire.HTTP{Method: "POST", Body: make([]byte, 1000)}})
	if err != nil {
		t.Fatal(err)
	}
	p := Default()
	p.Depth = 3
	l := newPipeline(&p, 0, true, func() wire.Protocol { return target.Protocol("", nil, false) })
	reply := []byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	first, _ := l.begin(1)
	request := bytes.Clone(l.pending(make([]byte, first.length)))
	var sent []byte
	for round := range 3 * p.Depth {
		for l.next() != never {
			l.begin(1)
		}
		room := len(request)
		if round == 0 {
			room = 100
		}
		part := l.pending(make([]byte, room))
		sent = append(sent, part...)
		l.gone(len(part))
		if rest, whole, err := l.take(reply); err != nil || !whole || len(rest) > 0 {
			t.Fatalf("reply %d: whole: %v, %d bytes left, %v", round, whole, len(rest), err)
		}
		l.answered(1)
		if _, _, err := l.take(reply); !errors.Is(err, ErrAnswer) {
			t.Fatalf("a reply to no request, behind %d: %v", round, err)
		}
	}
	if want := bytes.Repeat(request, 3*p.Depth); !bytes.Equal(sent, want[:len(sent)]) {
		t.Error("what was sent is not one request behind the other")
	}
}

func TestSumsAreThoseOfThePayload(t *testing.T) {
	p := Default()
	p.Sizes = OneSize(3000)
	p.Protocol = Ack
	sums := pipelineOf(&p, 77, 5).protocol.(wire.Acknowledger)
	for _, size := range []int{1, 7, 15, 16, 17, 128, 3000} {
		payload := encoded(&p, 77, 5, 9, size)[4:]
		if got, want := sums.Sum(&wire.Request{Conn: 5, Seq: 9, Size: size}), crc32.Checksum(payload, crc32.MakeTable(crc32.Castagnoli)); got != want {
			t.Errorf("%d bytes: %x, want %x", size, got, want)
		}
	}
}

// Behind a stall, a moment that the generator lost does not make all that had to wait late by its fault.
func TestALateSendIsOneThatTheGeneratorMadeLate(t *testing.T) {
	const ms = 1e6
	p := Default()
	p.Rate = 100
	s := &session{plan: &p, end: 10_000 * ms, late: ms}
	for _, c := range []struct {
		waited, own int64
		late        float64
	}{{0, 0, 0}, {ms, ms, 0}, {2 * ms, 2 * ms, 1}, {2000 * ms, 5 * ms, 0}, {2000 * ms, 150 * ms, 0}, {2000 * ms, 250 * ms, 1}, {2000 * ms, 2000 * ms, 1}} {
		var sum tally
		if sum.count(s, &request{intended: 100, sent: 100 + c.waited}, c.own); sum.late != c.late || sum.sent != 1 {
			t.Errorf("%+v: %+v", c, sum)
		}
	}
}

// What counts as late is what the generator lets pass, not the time for which
// there was no room.
func TestLateIsTheGeneratorsOwn(t *testing.T) {
	p := Default()
	p.Rate, p.Protocol = 1000, Echo
	l := pipelineOf(&p, 1, 0)
	const ms = 1e6
	if r, late := l.begin(0); late != 0 || r.intended != 0 {
		t.Errorf("%+v, %d late", *r, late)
	}
	if l.next() != never {
		t.Error("there is room for a second one")
	}
	l.gone(len(l.pending(make([]byte, 1000))))
	l.answered(10 * ms)
	r, late := l.begin(13 * ms)
	if late != 3*ms || r.intended != 1*ms || r.sent != 13*ms {
		t.Errorf("%+v, %d late", *r, late)
	}
	if lost := l.lost(20 * ms); lost != 1 {
		t.Errorf("%d lost", lost)
	}
	if r, late := l.begin(21 * ms); late != 1*ms || r.intended != 2*ms {
		t.Errorf("%+v, %d late", *r, late)
	}
	if got := l.missed(100*ms, &p); got != 97 {
		t.Errorf("%v missed", got)
	}
	if got := l.missed(3*ms, &p); got != 0 {
		t.Errorf("%v missed", got)
	}
}

// A generator that stands still for 50 ms has 50 requests to catch up with. All of
// them are late because of that, although each had to wait for the one before.
func TestADelayOfTheGeneratorIsPassedOn(t *testing.T) {
	for _, depth := range []int{1, 3} {
		p := Default()
		p.Rate, p.Protocol, p.Depth = 1000, Echo, depth
		l := pipelineOf(&p, 1, 0)
		const ms = 1e6
		now, last := int64(50*ms), int64(math.MaxInt64)
		for l.due < now {
			var late int64
			for range depth {
				r, d := l.begin(now)
				if late = d; r.sent != now || late > now-r.intended {
					t.Fatalf("%+v is %d late", *r, late)
				}
			}
			if late > last || late <= 0 {
				t.Fatalf("at %d: %d late, before it was %d", now, late, last)
			}
			last = late
			l.gone(len(l.pending(make([]byte, 10000))))
			now += ms / 2 // the target takes half of the time that there is
			for range depth {
				l.answered(now)
			}
		}
		if late := float64(last); depth == 1 && (now < 98*ms || late > 2*ms) {
			t.Errorf("caught up at %d, %v late", now, late)
		}
	}
}

func TestTimersComeInOrder(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 100 {
		var list timers
		at := map[int]int64{}
		for peer := range 1 + rng.IntN(200) {
			at[peer] = rng.Int64N(50)
			heap.Push(&list, timer{at[peer], int32(peer)})
			if rng.IntN(3) == 0 {
				first := list.next()
				for _, other := range at {
					if other < first {
						t.Fatalf("%d comes before %d", first, other)
					}
				}
				peer := int(heap.Pop(&list).(timer).peer)
				if at[peer] != first {
					t.Fatalf("%d is at %d, not %d", peer, at[peer], first)
				}
				delete(at, peer)
			}
		}
		for last := int64(0); len(at) > 0; {
			first := list.next()
			peer := int(heap.Pop(&list).(timer).peer)
			if first < last || at[peer] != first {
				t.Fatal(fmt.Sprint(first, last, peer, at))
			}
			last = first
			delete(at, peer)
		}
		if list.next() != never {
			t.Fatal("something is left")
		}
	}
}
