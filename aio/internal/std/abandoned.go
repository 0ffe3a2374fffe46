package std

import (
	"net"
	"weak"
)

// Abandon returns what closes the driver after its watcher has been collected. It does not
// refer to the driver: a completion may have a Context that leads to the watcher, which
// could never be collected then. When the driver is gone as well, no goroutine has an
// operation of it, and the connections that are left are idle.
func (d *Driver) Abandon() func() {
	w, known := weak.Make(d), d.table.known
	return func() {
		if d := w.Value(); d != nil {
			d.Close()
			return
		}
		for conn := range known.idle(func(net.Conn) bool { return false }) {
			go conn.Close() // crypto/tls may take seconds
		}
	}
}
