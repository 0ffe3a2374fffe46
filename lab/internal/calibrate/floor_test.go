package calibrate

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
)

// records are frames of random lengths, with what protocol ack answers to them.
func records(random *rand.Rand, n, longest int) (sent, acks []byte) {
	for i := range n {
		length := random.IntN(longest + 1)
		sent = binary.BigEndian.AppendUint32(sent, uint32(length))
		for range length {
			sent = append(sent, byte(random.Uint32()))
		}
		acks = binary.BigEndian.AppendUint64(acks, uint64(i+1))
	}
	return sent, acks
}

func TestAcknowledgementsDoNotDependOnHowBytesCome(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 3))
	for range 200 {
		sent, want := records(random, random.IntN(20), 30)
		answer := answers(load.Ack)
		var got []byte
		for rest := sent; len(rest) > 0; {
			n := min(len(rest), 1+random.IntN(12))
			got = append(got, answer(rest[:n])...)
			rest = rest[n:]
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%x is answered by %x, want %x", sent, got, want)
		}
	}
}

func TestALengthIsNotBelieved(t *testing.T) {
	answer := answers(load.Ack)
	// A length alone, without the bytes, allocates nothing.
	if got := answer([]byte{0xff, 0xff, 0xff, 0xff, 1, 2, 3}); len(got) != 0 {
		t.Errorf("answered %x", got)
	}
}

// FuzzAcknowledger holds that an answer is a whole number of acknowledgements, as
// many as there are records.
func FuzzAcknowledger(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 9, 0, 0, 0, 0}, uint8(3))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff}, uint8(1))
	f.Fuzz(func(t *testing.T, sent []byte, step uint8) {
		answer := answers(load.Ack)
		answered := 0
		for rest := sent; len(rest) > 0; {
			n := min(len(rest), 1+int(step))
			answered += len(answer(rest[:n]))
			rest = rest[n:]
		}
		want := 0
		for rest := sent; len(rest) >= 4; want++ {
			n := uint64(binary.BigEndian.Uint32(rest))
			if rest = rest[4:]; n > uint64(len(rest)) {
				break
			}
			rest = rest[n:]
		}
		if answered != 8*want {
			t.Errorf("%d bytes for %d records", answered, want)
		}
	})
}

// floorAt serves a floor within the test.
func floorAt(t *testing.T, protocol load.Protocol) string {
	t.Helper()
	p, err := startFloor(t.Context(), self(t), protocol)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p.addr
}

func TestTheFloorAnswersWhatItIsTo(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	short, shortAcks := records(random, 1000, 100)
	long, longAcks := records(random, 3, 3<<20)
	for _, protocol := range []load.Protocol{load.Echo, load.Frame, load.Ack} {
		addr := floorAt(t, protocol)
		for _, c := range []struct{ sent, want []byte }{{short, shortAcks}, {long, longAcks}} {
			if protocol != load.Ack {
				c.want = c.sent
			}
			conn, err := net.DialTimeout("tcp", addr, eventTimeout)
			if err != nil {
				t.Fatal(err)
			}
			conn.SetDeadline(time.Now().Add(eventTimeout))
			// More than the socket's buffers hold: it has to keep what is not taken.
			go conn.Write(c.sent)
			got := make([]byte, len(c.want))
			if n, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, c.want) {
				t.Errorf("%s: %d of %d bytes, %v", protocol, n, len(c.want), err)
			}
			conn.Close()
		}
	}
}

func TestTheFloorOutlivesConnectionsThatBreak(t *testing.T) {
	addr := floorAt(t, load.Frame)
	for range 50 {
		conn, err := net.DialTimeout("tcp", addr, eventTimeout)
		if err != nil {
			t.Fatal(err)
		}
		conn.(*net.TCPConn).SetLinger(0)
		conn.Write(make([]byte, 1000))
		conn.Close()
	}
	conn, err := net.DialTimeout("tcp", addr, eventTimeout)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(eventTimeout))
	conn.Write([]byte("x"))
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Error(err)
	}
}
