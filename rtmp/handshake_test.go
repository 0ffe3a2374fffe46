package rtmp

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	sluice "github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// handshakeSide is a Conn over a feed, and what it has sent.
type handshakeSide struct {
	*Conn
	r   *sluice.BufReader
	out bytes.Buffer
}

func handshakeNew(o Options) *handshakeSide {
	s := &handshakeSide{r: sluice.NewBufReaderFed()}
	s.Conn = NewConn(s.r, sluice.NewBufWriter(&s.out), o)
	return s
}

// sent returns what the side has sent since the last call.
func (s *handshakeSide) sent() []byte {
	p := bytes.Clone(s.out.Bytes())
	s.out.Reset()
	return p
}

func handshakeC1(scheme int) []byte {
	c1 := make([]byte, handshakeLen)
	rand.Read(c1[8:])
	if scheme >= 0 {
		copy(c1[4:], playerVersion[:])
		sign(c1, scheme, playerSide)
	}
	return c1
}

// Each side is fed byte by byte, so that every call is repeated at every place.
func TestHandshakeBetweenOurOwnSides(t *testing.T) {
	for _, plain := range []bool{false, true} {
		server, client := handshakeNew(Options{}), handshakeNew(Options{PlainHandshake: plain})
		serverDone, clientDone := false, false
		for range 10 {
			if err := client.ClientHandshake(); err == nil {
				clientDone = true
			} else if !errors.Is(err, sluice.ErrShort) {
				t.Fatal("client: ", err)
			}
			for _, c := range client.sent() {
				if err := server.r.FeedCopy([]byte{c}); err != nil {
					t.Fatal(err)
				}
				if err := server.ServerHandshake(); err == nil {
					serverDone = true
				} else if !errors.Is(err, sluice.ErrShort) {
					t.Fatal("server: ", err)
				}
			}
			for _, c := range server.sent() {
				if err := client.r.FeedCopy([]byte{c}); err != nil {
					t.Fatal(err)
				}
				if err := client.ClientHandshake(); err == nil {
					clientDone = true
				} else if !errors.Is(err, sluice.ErrShort) {
					t.Fatal("client: ", err)
				}
			}
		}
		if !serverDone || !clientDone || server.r.Buffered() != 0 || client.r.Buffered() != 0 {
			t.Errorf("plain %v: server done %v, client done %v, %d and %d bytes left", plain, serverDone, clientDone, server.r.Buffered(), client.r.Buffered())
		}
	}
}

func TestServerAnswersBothSchemes(t *testing.T) {
	for scheme := range schemes {
		c1 := handshakeC1(scheme)
		s := handshakeNew(Options{})
		if err := s.r.FeedCopy(append([]byte{version}, c1...)); err != nil {
			t.Fatal(err)
		}
		if err := s.ServerHandshake(); !errors.Is(err, sluice.ErrShort) {
			t.Fatal(err)
		}
		p := s.sent()
		if len(p) != 1+2*handshakeLen || p[0] != version {
			t.Fatalf("%d bytes, the first %d", len(p), p[0])
		}
		_, got, ok := signed(p[1:1+handshakeLen], serverSide)
		if !ok || got != scheme {
			t.Errorf("scheme %d was answered with scheme %d, %v", scheme, got, ok)
		}
		digest, _, _ := signed(c1, playerSide)
		s2 := p[1+handshakeLen:]
		want := bytes.Clone(s2)
		answer(want, digest, serverSide)
		if !bytes.Equal(s2, want) {
			t.Errorf("scheme %d: the last packet does not prove that the client's digest was seen", scheme)
		}
	}
}

func TestServerAnswersPlainly(t *testing.T) {
	odd := handshakeC1(0)
	odd[1000]++ // the digest is wrong
	for name, c1 := range map[string][]byte{
		"random":       handshakeC1(-1),
		"zero":         make([]byte, handshakeLen),
		"wrong digest": odd,
		"all ones":     bytes.Repeat([]byte{0xFF}, handshakeLen),
	} {
		s := handshakeNew(Options{})
		if err := s.r.FeedCopy(append([]byte{version}, c1...)); err != nil {
			t.Fatal(err)
		}
		if err := s.ServerHandshake(); !errors.Is(err, sluice.ErrShort) {
			t.Fatal(name, err)
		}
		p := s.sent()
		if !bytes.Equal(p[1+handshakeLen:], c1) {
			t.Errorf("%s: the last packet is not the client's", name)
		}
		if !bytes.Equal(p[1:9], make([]byte, 8)) {
			t.Errorf("%s: the first packet begins with % x", name, p[1:9])
		}
		if err := s.r.FeedCopy(p[1 : 1+handshakeLen]); err != nil {
			t.Fatal(err)
		}
		if err := s.ServerHandshake(); err != nil {
			t.Error(name, err)
		}
	}
}

// That the keys and offsets are those of others is seen with ffmpeg, whose
// digest the tests with it look for, and which looks for ours; here, that a
// digest is found where it is and nowhere else.
func TestDigestPlaces(t *testing.T) {
	for scheme, base := range schemes {
		for _, b := range []byte{0, 1, 182, 255} {
			p := make([]byte, handshakeLen)
			rand.Read(p)
			copy(p[base:], []byte{b, b, b, b})
			i := digestAt(p, scheme)
			if i < base+4 || i+digestLen > base+4+schemeSpan+digestLen || i+digestLen > handshakeLen {
				t.Errorf("scheme %d, bytes %d: digest at %d", scheme, b, i)
			}
			sign(p, scheme, playerSide)
			// The digest may lie over the other scheme's four bytes, but not
			// over its own.
			if _, got, ok := signed(p, playerSide); !ok || got != scheme {
				t.Errorf("scheme %d, bytes %d: found %d, %v", scheme, b, got, ok)
			}
			if _, _, ok := signed(p, serverSide); ok {
				t.Errorf("scheme %d: a player's digest is taken for a server's", scheme)
			}
		}
	}
}

func TestHandshakeRefusesOtherVersions(t *testing.T) {
	for _, v := range []byte{0, 2, 4, 6, 'G', 0x16, 0xFF} {
		s := handshakeNew(Options{})
		// One byte is enough.
		if err := s.r.FeedCopy([]byte{v}); err != nil {
			t.Fatal(err)
		}
		if err := s.ServerHandshake(); !errors.Is(err, ErrHandshake) {
			t.Errorf("version %d: server: %v", v, err)
		}
		c := handshakeNew(Options{})
		if err := c.r.FeedCopy([]byte{v}); err != nil {
			t.Fatal(err)
		}
		if err := c.ClientHandshake(); !errors.Is(err, ErrHandshake) {
			t.Errorf("version %d: client: %v", v, err)
		}
	}
}

func TestHalfHandshake(t *testing.T) {
	whole := append(append([]byte{version}, handshakeC1(0)...), make([]byte, handshakeLen)...)
	for _, n := range []int{0, 1, 2, 1536, 1537, 1538, len(whole) - 1} {
		b, a := chunkSource(bytes.NewReader(whole[:n]), mem.Options{})
		sluicetest.NoLeaks(t, a)
		w := hostileWriter(a, func(p []byte) (int, error) { return len(p), nil })
		c := NewConn(b, w, Options{})
		if err := c.ServerHandshake(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes: %v", n, err)
		}
		if out := a.Stats().OutBytes; out > 8<<10 {
			t.Errorf("%d bytes are out after a handshake of %d", out, n)
		}
		c.Recycle()
		b.Recycle()
		w.Recycle()
	}
}

// A peer that says nothing, or stops half-way, is left to the deadline; what it
// has sent until then is not lost.
func TestSilenceEndsAtTheDeadline(t *testing.T) {
	server, client := linkTCP(t)
	s := linkNew(t, server, Options{})
	defer s.end()
	whole := append(append([]byte{version}, handshakeC1(0)...), make([]byte, handshakeLen)...)
	for _, cut := range [][2]int{{0, 0}, {0, 1}, {1, 1000}, {1000, 1537}, {1537, 2000}} {
		if _, err := client.Write(whole[cut[0]:cut[1]]); err != nil {
			t.Fatal(err)
		}
		if err := server.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if err := s.ServerHandshake(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("%v: %v", cut, err)
		}
	}
	if err := server.SetReadDeadline(time.Now().Add(linkWait)); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Write(whole[2000:]); err != nil {
		t.Fatal(err)
	}
	if err := s.ServerHandshake(); err != nil {
		t.Fatal(err)
	}
	if err := server.SetReadDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ReadRequest(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
}

func FuzzHandshake(f *testing.F) {
	f.Add(append(append([]byte{version}, handshakeC1(0)...), make([]byte, handshakeLen)...), true)
	f.Add(append(append([]byte{version}, handshakeC1(1)...), make([]byte, handshakeLen)...), true)
	f.Add(append(append([]byte{version}, handshakeC1(-1)...), make([]byte, handshakeLen)...), false)
	f.Add([]byte{version}, false)
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), true)
	f.Fuzz(func(t *testing.T, in []byte, server bool) {
		var out bytes.Buffer
		r := sluice.NewBufReaderBytes(bytes.Clone(in))
		c := NewConn(r, sluice.NewBufWriter(&out), Options{})
		shake, need, sends := c.ClientHandshake, 1+2*handshakeLen, 1+2*handshakeLen
		if server {
			shake = c.ServerHandshake
		}
		err := shake()
		switch {
		case len(in) > 0 && in[0] != version:
			if !errors.Is(err, ErrHandshake) {
				t.Fatalf("version %d: %v", in[0], err)
			}
		case len(in) < need:
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("%d bytes: %v", len(in), err)
			}
		case err != nil || out.Len() != sends || r.Buffered() != len(in)-need:
			t.Fatalf("%d bytes: %v, %d bytes sent, %d left", len(in), err, out.Len(), r.Buffered())
		}
		if server && err == nil {
			s1 := out.Bytes()[1 : 1+handshakeLen]
			_, scheme, withDigest := signed(in[1:1+handshakeLen], playerSide)
			if _, got, ok := signed(s1, serverSide); ok != withDigest || ok && got != scheme {
				t.Fatalf("a digest %v by scheme %d was answered by %v, %d", withDigest, scheme, ok, got)
			}
		}
	})
}
