package aio

import (
	"crypto/tls"
	"fmt"
	"iter"
	"net"
	"reflect"
	"weak"
)

// stdConn is a connection that has something pending, or had until just now.
type stdConn struct {
	std    *std
	conn   net.Conn
	reads  stdLane
	writes stdLane
	ending error  // why it was closed: what is pending ends with it
	last   uint64 // the batch of its last completion
	listed bool   // in std.settled
}

func (c *stdConn) idle() bool { return !c.reads.running && !c.writes.running }

// identifiable says why a connection cannot be told from others.
func identifiable(conn net.Conn) error {
	if conn == nil {
		return fmt.Errorf("%w: it is nil", ErrUnsupported)
	}
	v := reflect.ValueOf(conn)
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("%w: it is a nil %T", ErrUnsupported, conn)
	}
	if !v.Comparable() {
		return fmt.Errorf("%w: values of %T cannot be compared, pointers to them can", ErrUnsupported, conn)
	}
	return nil
}

// find returns what is known of conn, anew if need be, and nil when conn is
// known to be freed. It is called with mu held.
func (s *std) find(conn net.Conn) *stdConn {
	if c := s.conns[conn]; c != nil {
		return c
	}
	freed, anew := s.known.see(conn)
	if freed {
		return nil
	}
	if anew {
		s.count.Delegated++
	}
	c := &stdConn{std: s, conn: conn, last: s.batch}
	c.reads.conn, c.writes.conn = c, c
	c.writes.sends = true
	s.conns[conn] = c
	return c
}

// settle forgets c if it has nothing pending, but not before the program has
// seen its last completion and had the occasion to answer it: what was learnt
// of the connection is worth keeping between two of its operations.
func (s *std) settle(c *stdConn) {
	if !c.idle() {
		return
	}
	switch {
	case c.ending != nil || c.last < s.over:
		// It may have been forgotten before, and be known anew.
		if s.conns[c.conn] != c {
			return
		}
		delete(s.conns, c.conn)
		if c.ending == nil && weakRefOf(c.conn) == nil {
			s.count.Delegated-- // it is the program's again
		}
	case !c.listed:
		c.listed = true
		s.settled = append(s.settled, c)
	}
}

func (s *std) sweepSettled() {
	list := s.settled
	s.settled = s.settled[:0]
	for _, c := range list {
		c.listed = false
		s.settle(c)
	}
	clear(list[len(s.settled):])
}

// weakRef is a connection that is remembered and not kept alive. Which types
// there are has to be known here: nothing weak can be made of an interface.
type weakRef interface {
	// conn returns nil when the connection was collected.
	conn() net.Conn
}

type weakConn[T any, P interface {
	*T
	net.Conn
}] struct{ p weak.Pointer[T] }

func (r weakConn[T, P]) conn() net.Conn {
	if p := r.p.Value(); p != nil {
		return P(p)
	}
	return nil
}

func weakRefOf(conn net.Conn) weakRef {
	switch c := conn.(type) {
	case *net.TCPConn:
		return weakConn[net.TCPConn, *net.TCPConn]{weak.Make(c)}
	case *net.UnixConn:
		return weakConn[net.UnixConn, *net.UnixConn]{weak.Make(c)}
	case *tls.Conn:
		return weakConn[tls.Conn, *tls.Conn]{weak.Make(c)}
	}
	return nil
}

// knownConns are the connections that were seen, as far as that can be
// remembered without keeping them alive.
type knownConns struct {
	freed map[weakRef]bool
	sweep int // look for collected ones when there are so many
}

// see remembers conn, and reports whether it was freed, and whether it was not
// known before.
func (k *knownConns) see(conn net.Conn) (freed, anew bool) {
	r := weakRefOf(conn)
	if r == nil {
		return false, true
	}
	freed, ok := k.freed[r]
	if !ok {
		k.set(r, false)
	}
	return freed, !ok
}

// free remembers that conn is freed. It reports what see does.
func (k *knownConns) free(conn net.Conn) (freed, anew bool) {
	r := weakRefOf(conn)
	if r == nil {
		return false, true
	}
	freed, ok := k.freed[r]
	k.set(r, true)
	return freed, !ok
}

func (k *knownConns) set(r weakRef, freed bool) {
	if len(k.freed) >= k.sweep {
		if k.freed == nil {
			k.freed = make(map[weakRef]bool)
		}
		for r := range k.freed {
			if r.conn() == nil {
				delete(k.freed, r)
			}
		}
		k.sweep = max(256, 2*len(k.freed))
	}
	k.freed[r] = freed
}

// idle yields the connections that are alive, not freed and not in busy.
func (k *knownConns) idle(busy map[net.Conn]*stdConn) iter.Seq[net.Conn] {
	return func(yield func(net.Conn) bool) {
		for r, freed := range k.freed {
			if freed {
				continue
			}
			if conn := r.conn(); conn != nil && busy[conn] == nil && !yield(conn) {
				return
			}
		}
	}
}
