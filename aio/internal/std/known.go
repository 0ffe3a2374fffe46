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
	freed map[weakRef]bool
	sweep int // look for collected ones when there are so many
}

// see remembers conn, and reports whether it was freed, and whether it was not
// known before.
func (k *knownConns) see(conn net.Conn) (freed, added bool) {
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
func (k *knownConns) free(conn net.Conn) (freed, added bool) {
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
			if r.strong() == nil {
				delete(k.freed, r)
			}
		}
		k.sweep = max(256, 2*len(k.freed))
	}
	k.freed[r] = freed
}

// idle yields the connections that are alive, not freed and not busy.
func (k *knownConns) idle(busy func(net.Conn) bool) iter.Seq[net.Conn] {
	return func(yield func(net.Conn) bool) {
		for r, freed := range k.freed {
			if freed {
				continue
			}
			if conn := r.strong(); conn != nil && !busy(conn) && !yield(conn) {
				return
			}
		}
	}
}
