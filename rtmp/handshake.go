package rtmp

import (
	"crypto/rand"
	"fmt"

	"github.com/sluice-go/sluice/mem"
)

// version is the first byte of either side (specification, section 5.2.2).
const version = 3

// The version numbers that stand in the first packets of a digest handshake: a
// Flash Player and a server that know it. Zero there says plain.
var (
	playerVersion = [4]byte{9, 0, 124, 2}
	serverVersion = [4]byte{4, 5, 0, 1}
)

// ServerHandshake reads a client's side of the handshake and answers it
// (section 5.2): with the digest of either scheme when the client's packet
// bears one, plainly when not. The client's last packet is taken as it is:
// common clients fill it with anything.
//
// After a deadline or sluice.ErrShort it can be called again.
func (c *Conn) ServerHandshake() error {
	c.made()
	if c.handshake == handshakeStart {
		if err := c.peerVersion(); err != nil {
			return err
		}
		p, err := c.r.Next(1 + handshakeLen)
		if err != nil {
			return inside(err)
		}
		if err := c.answerClient(p[1:]); err != nil {
			return err
		}
		c.handshake = handshakeLast
	}
	return c.lastPacket()
}

// answerClient sends S0, S1 and S2 for the C1 in c1.
func (c *Conn) answerClient(c1 []byte) error {
	out := c.alloc().Get(1 + 2*handshakeLen)
	p := out.Bytes()
	p[0] = version
	s1, s2 := p[1:1+handshakeLen], p[1+handshakeLen:]
	digest, scheme, ok := signed(c1, playerSide)
	// Old servers have a time here; zero is what peers expect in practice.
	clear(s1[:8])
	rand.Read(s1[8:])
	if ok {
		copy(s1[4:], serverVersion[:])
		sign(s1, scheme, serverSide)
		rand.Read(s2)
		answer(s2, digest, serverSide)
	} else {
		copy(s2, c1)
	}
	return c.send(out)
}

// ClientHandshake makes a client's side of the handshake: with a digest, which
// servers that know none take for random bytes, unless Options.PlainHandshake.
//
// After a deadline or sluice.ErrShort it can be called again.
func (c *Conn) ClientHandshake() error {
	c.made()
	if c.handshake == handshakeStart {
		out := c.alloc().Get(1 + handshakeLen)
		p := out.Bytes()
		p[0] = version
		c1 := p[1:]
		clear(c1[:8])
		rand.Read(c1[8:])
		if !c.options.PlainHandshake {
			copy(c1[4:], playerVersion[:])
			sign(c1, 0, playerSide)
		}
		if err := c.send(out); err != nil {
			return err
		}
		c.handshake = handshakeSent
	}
	if c.handshake == handshakeSent {
		if err := c.peerVersion(); err != nil {
			return err
		}
		p, err := c.r.Next(1 + handshakeLen)
		if err != nil {
			return inside(err)
		}
		s1 := p[1:]
		out := c.alloc().Get(handshakeLen)
		c2 := out.Bytes()
		if digest, _, ok := signed(s1, serverSide); ok {
			rand.Read(c2)
			answer(c2, digest, playerSide)
		} else {
			copy(c2, s1)
		}
		if err := c.send(out); err != nil {
			return err
		}
		c.handshake = handshakeLast
	}
	return c.lastPacket()
}

// peerVersion refuses other versions at their first byte. Version 6 is RTMPE,
// whose encryption is none.
func (c *Conn) peerVersion() error {
	p, err := c.r.Peek(1)
	if err != nil {
		return inside(err)
	}
	if p[0] != version {
		return fmt.Errorf("%w: version %d, want %d", ErrHandshake, p[0], version)
	}
	return nil
}

// lastPacket passes over the peer's second packet, from whose end received
// bytes are counted.
func (c *Conn) lastPacket() error {
	if c.handshake == handshakeDone {
		return nil
	}
	if _, err := c.r.Next(handshakeLen); err != nil {
		return inside(err)
	}
	c.handshake = handshakeDone
	c.base = c.r.TotalRead() - int64(c.r.Buffered())
	return nil
}

// send writes p, transferred, and flushes.
func (c *Conn) send(p mem.Buf) error {
	c.lock()
	defer c.mu.Unlock()
	if err := c.w.WriteBuf(p); err != nil {
		return err
	}
	return c.w.Flush()
}
