//go:build unix && !aix && !solaris && !illumos

package ready

import (
	"fmt"
	"net"
	"reflect"

	"github.com/sluice-go/sluice/aio/internal/op"
)

// table finds connections by the program's name for them and by descriptor.
//
// Names are nearly always pointers, and are compared by address. The table does not
// keep idle ones alive for ever, or they could never be collected; so an address may have
// come to mean another connection, and a weak pointer shows that.
type table struct {
	conns  map[uintptr]*conn  // by the address of the program's connection
	values map[net.Conn]*conn // those that are not pointers
	fds    []*conn            // by descriptor
	open   *descriptors       // those that have a connection in fds
	gen    uint32             // of the last connection
}

// addressOf returns the pointer that name is, or nil when it is another kind of
// comparable value.
func addressOf(name net.Conn) (*byte, error) {
	if name == nil {
		return nil, op.ErrUnsupported
	}
	v := reflect.ValueOf(name)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil, fmt.Errorf("%w: nil %T", op.ErrUnsupported, name)
		}
		return (*byte)(v.UnsafePointer()), nil
	}
	if !v.Comparable() {
		return nil, fmt.Errorf("%w: values of type %T cannot be told apart, pass a pointer", op.ErrUnsupported, name)
	}
	return nil, nil
}

// newIdentity is the identity of name, whose address is this.
func newIdentity(name net.Conn, address *byte) identity {
	if address == nil {
		return identity{name: name}
	}
	return identity{name: name, key: op.Address(address)}
}

// known looks a name up.
func (t *table) known(name net.Conn, address *byte) *conn {
	if address == nil {
		return t.values[name]
	}
	if c := t.conns[op.Address(address)]; c != nil && (!c.isWeak() || c.self.Value() == address) {
		return c
	}
	return nil
}

// enter adds c by its name.
func (t *table) enter(name net.Conn, c *conn) {
	if c.key != 0 {
		t.conns[c.key] = c
		return
	}
	if t.values == nil {
		t.values = make(map[net.Conn]*conn)
	}
	t.values[name] = c
}

// enterFD adds c by its descriptor.
func (t *table) enterFD(c *conn) {
	for int(c.FD) >= len(t.fds) {
		t.fds = append(t.fds, nil)
	}
	t.fds[c.FD] = c
	t.open.add(c.FD)
}

// leave takes c out.
func (t *table) leave(name net.Conn, c *conn) {
	if c.key == 0 {
		if t.values[name] == c {
			delete(t.values, name)
		}
	} else if t.conns[c.key] == c {
		// Another may have come to the same address.
		delete(t.conns, c.key)
	}
	t.leaveFD(c)
}

// leaveFD takes c out of those with a descriptor.
func (t *table) leaveFD(c *conn) {
	if c.FD >= 0 && t.fds[c.FD] == c {
		t.fds[c.FD] = nil
		t.open.remove(c.FD)
	}
}

// at returns the connection that has this descriptor and generation. It returns nil when
// the connection was freed after the poller's answer, also if another connection has
// the descriptor now.
func (t *table) at(fd int, gen uint32) *conn {
	if fd < len(t.fds) && t.fds[fd] != nil && t.fds[fd].gen == gen {
		return t.fds[fd]
	}
	return nil
}

// all returns the connections that have a descriptor.
func (t *table) all() []*conn {
	all := make([]*conn, 0, len(t.conns)+len(t.values))
	for _, c := range t.fds {
		if c != nil {
			all = append(all, c)
		}
	}
	return all
}

// forgotten returns those whose name has been collected.
func (t *table) forgotten() (forgotten []*conn) {
	for _, c := range t.fds {
		if c != nil && c.isWeak() && c.self.Value() == nil {
			forgotten = append(forgotten, c)
		}
	}
	return forgotten
}
