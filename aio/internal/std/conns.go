package std

import (
	"fmt"
	"net"
	"reflect"

	"github.com/sluice-go/sluice/aio/internal/op"
)

// identifiable returns an error that says why a connection cannot be identified.
func identifiable(conn net.Conn) error {
	if conn == nil {
		return fmt.Errorf("%w: it is nil", op.ErrUnsupported)
	}
	v := reflect.ValueOf(conn)
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("%w: it is a nil %T", op.ErrUnsupported, conn)
	}
	if !v.Comparable() {
		return fmt.Errorf("%w: values of %T cannot be compared, pointers to them can", op.ErrUnsupported, conn)
	}
	return nil
}

// find returns what is known of name, from now on if need be, and nil when name is
// known to be freed. It is called with mu held.
func (d *Driver) find(name net.Conn) *conn {
	if c := d.table.conns[name]; c != nil {
		return c
	}
	was, added := d.table.known.see(name)
	if was.freed {
		return nil
	}
	if added {
		d.counters.Delegated++
	}
	c := &conn{driver: d, conn: name, last: d.table.batch}
	c.reads.conn, c.writes.conn = c, c
	c.writes.sends = true
	c.reads.room = was.room
	d.table.conns[name] = c
	return c
}

// busy reports whether conn has, or has just had, something pending.
func (t *table) busy(conn net.Conn) bool { return t.conns[conn] != nil }

// settle forgets c if it has nothing pending, but not before the program has seen its
// last completion and could submit the next operation: the traits of the connection
// are worth keeping between two operations. How much it reads at once is remembered longer: a
// gateway's next read waits for what the other side takes.
func (d *Driver) settle(c *conn) {
	if !c.idle() {
		return
	}
	switch {
	case c.ending == nil && d.life.state != open: // Close closes it
	case c.ending == nil && len(c.reads.kept) > 0: // for its next read
	case c.ending != nil || c.last < d.table.over:
		// It may have been forgotten before, and be known again.
		if d.table.conns[c.conn] != c {
			return
		}
		delete(d.table.conns, c.conn)
		if c.ending != nil {
			return
		}
		if weakRefOf(c.conn) == nil {
			d.counters.Delegated-- // it is the program's again
		}
		d.table.known.note(c.conn, func(now *known) { now.room = c.reads.room })
	case !c.listed:
		c.listed = true
		d.table.settled = append(d.table.settled, c)
	}
}

// sweepSettled forgets what has had nothing pending since the Wait before the last.
func (d *Driver) sweepSettled() {
	list := d.table.settled
	d.table.settled = d.table.settled[:0]
	for _, c := range list {
		c.listed = false
		d.settle(c)
	}
	clear(list[len(d.table.settled):])
}
