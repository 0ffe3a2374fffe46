package std

import (
	"crypto/tls"
	"iter"
	"net"
	"weak"
)

// weakRef refers to a connection without keeping it alive. The types are listed
// here, because there are no weak pointers to interfaces.
type weakRef interface {
	// strong returns nil when the connection was collected.
	strong() net.Conn
}

type weakConn[T any, P interface {
	*T
	net.Conn
}] struct{ p weak.Pointer[T] }

func (r weakConn[T, P]) strong() net.Conn {
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
	case *net.UDPConn:
		return weakConn[net.UDPConn, *net.UDPConn]{weak.Make(c)}
	case *net.IPConn:
		return weakConn[net.IPConn, *net.IPConn]{weak.Make(c)}
	case *tls.Conn:
		return weakConn[tls.Conn, *tls.Conn]{weak.Make(c)}
	}
	return nil
}

// knownConns are the connections that were seen, as far as that can be
// remembered without keeping them alive.
type knownConns struct {
	conns map[weakRef]known
	sweep int // look for collected ones when there are so many
}

// known is what is remembered of a connection that has nothing pending.
type known struct {
	freed bool
	room  int // direction.room of its reads, 0 when it was never found out
}

// see remembers conn, and reports what was known of it, and whether that was nothing.
func (k *knownConns) see(conn net.Conn) (was known, added bool) {
	return k.note(conn, func(*known) {})
}

// free remembers that conn is freed. It reports what see does.
func (k *knownConns) free(conn net.Conn) (was known, added bool) {
	return k.note(conn, func(now *known) { now.freed = true })
}

// note changes what is remembered of conn.
func (k *knownConns) note(conn net.Conn, change func(now *known)) (was known, added bool) {
	r := weakRefOf(conn)
	if r == nil {
		return known{}, true
	}
	was, there := k.conns[r]
	if !there && len(k.conns) >= k.sweep {
		k.forgetCollected()
	}
	now := was
	change(&now)
	if !there || now != was {
		k.conns[r] = now
	}
	return was, !there
}

func (k *knownConns) forgetCollected() {
	if k.conns == nil {
		k.conns = make(map[weakRef]known)
	}
	for r := range k.conns {
		if r.strong() == nil {
			delete(k.conns, r)
		}
	}
	k.sweep = max(256, 2*len(k.conns))
}

// idle yields the connections that are alive, not freed and not busy.
func (k *knownConns) idle(busy func(net.Conn) bool) iter.Seq[net.Conn] {
	return func(yield func(net.Conn) bool) {
		for r, was := range k.conns {
			if was.freed {
				continue
			}
			if conn := r.strong(); conn != nil && !busy(conn) && !yield(conn) {
				return
			}
		}
	}
}
