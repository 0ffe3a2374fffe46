package std

import (
	"net"
	"runtime"
	"time"

	"github.com/sluice-go/sluice/aio/internal/op"
)

// keptLists is how long the lists of a direction may be and be kept for its next goroutine.
const keptLists = 16

// run is the goroutine of the direction.
func (dir *direction) run() {
	d := dir.conn.driver
	over := false
	defer func() {
		if p := recover(); p != nil {
			panic(p) // it ends the program
		}
		if !over { // runtime.Goexit, in a method of the connection
			dir.goOn()
		}
	}()
	dir.look()
	d.mu.Lock()
	for clean := false; ; {
		if len(dir.flight) == 0 {
			if err := dir.over(); err != nil {
				for dir.head != nil {
					o := dir.head
					dir.remove(o)
					d.complete(o, err)
				}
			}
			if dir.head != nil && passed(dir.head.Deadline) {
				dir.dropExpired(time.Now())
			}
			if dir.head == nil {
				if clean || dir.conn.ending != nil {
					break
				}
				// An operation without a deadline, or the program itself, must
				// not inherit the deadline of an earlier operation.
				d.mu.Unlock()
				dir.reset()
				d.mu.Lock()
				clean = true
				continue
			}
		}
		clean = false
		if dir.sends {
			dir.write()
		} else {
			dir.read()
		}
	}
	dir.running = false
	if cap(dir.flight) > keptLists || dir.gather != nil && cap(dir.gather.room) > keptLists {
		dir.flight, dir.gather, dir.finished = nil, nil, nil
	}
	d.settle(dir.conn)
	d.exit()
	over = true
	d.mu.Unlock()
}

// goOn ends the connection whose method has ended the direction's goroutine: in a test FailNow does.
// Another one completes what is queued.
func (dir *direction) goOn() {
	c, d := dir.conn, dir.conn.driver
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.ending == nil {
		d.life.goroutines++
		cut := d.end(c, op.ErrGoexit)
		go d.closeConn(c.conn, cut)
	}
	for _, o := range dir.flight {
		if o.err == nil {
			o.err = c.ending
		}
		d.complete(o, o.err)
	}
	clear(dir.flight)
	dir.flight = dir.flight[:0]
	go dir.run()
}

// look finds out what the connection is. Its methods may be the program's.
func (dir *direction) look() {
	if dir.looked {
		return
	}
	dir.looked = true
	network := ""
	if a := dir.conn.conn.LocalAddr(); a != nil {
		network = a.Network()
	}
	size := dir.conn.driver.settings.BufferSize
	if op.InMessages(network) {
		dir.messages, dir.most, dir.room = true, size, size
		return
	}
	// Exactly these types: a struct that embeds one has methods of its own.
	switch dir.conn.conn.(type) {
	case *net.TCPConn, *net.UnixConn:
		dir.stream, dir.most = true, size
		// Windows does not say how much of a call was sent that is cut short, and
		// a call for several writes may have to be: see gatherTime.
		dir.joins = runtime.GOOS != "windows"
	default:
		dir.most = min(size, mostHeld)
	}
	if dir.room == 0 { // nothing is remembered of it
		dir.room = min(size, leastRoom)
	}
}
