package relay

import (
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/handover"
)

// An Inheritance is what a process has of its predecessor before it serves: the listeners,
// and the connection by which the rest comes. It belongs to one goroutine.
type Inheritance struct {
	conn      *handover.Conn
	from      handover.Welcome
	listeners []inherited
}

type inherited struct {
	handover.Listener
	opened net.Listener
}

// Inherit asks the process at the other end of c, transferred, for its listeners. version
// is that of the program.
func Inherit(c *handover.Conn, version string) (*Inheritance, error) {
	i := &Inheritance{conn: c}
	if err := i.ask(version); err != nil {
		i.Close()
		return nil, err
	}
	return i, nil
}

func (i *Inheritance) ask(version string) error {
	c := i.conn
	c.Within(handover.HelloTime)
	hello := handover.Hello{Format: handover.Format, Version: version, PID: os.Getpid(), Kinds: carried}
	if err := c.Send(handover.KindHello, hello, nil, nil); err != nil {
		return c.Reason(err)
	}
	if _, err := c.Expect(handover.KindWelcome, &i.from); err != nil {
		return err
	}
	if i.from.Format != handover.Format {
		return fmt.Errorf("%w: format %d, want %d", handover.ErrProtocol, i.from.Format, handover.Format)
	}
	for range i.from.Listeners {
		var l inherited
		m, err := c.Expect(handover.KindListener, &l.Listener)
		if err != nil {
			return err
		}
		if m.File == nil {
			return fmt.Errorf("%w: a listener without a descriptor", handover.ErrProtocol)
		}
		opened, err := net.FileListener(m.File)
		m.File.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", l.Setting, err)
		}
		i.listeners = append(i.listeners, inherited{l.Listener, opened})
	}
	return nil
}

// Take returns the listener of a setting, transferred, when it has this address still; nil
// when there is none. It is for Options.Given.
func (i *Inheritance) Take(setting, address string) net.Listener {
	for k, l := range i.listeners {
		if l.Setting == setting && strings.TrimSpace(l.Address) == strings.TrimSpace(address) {
			i.listeners = append(i.listeners[:k:k], i.listeners[k+1:]...)
			return l.opened
		}
	}
	return nil
}

// Refuse tells the predecessor, which goes on, why this process does not take over.
func (i *Inheritance) Refuse(reason error) {
	i.conn.Within(handover.HelloTime)
	i.conn.Refuse(reason.Error())
}

// Close ends the connection and closes the listeners that were not taken. Before TakeOver
// the predecessor goes on.
func (i *Inheritance) Close() {
	for _, l := range i.listeners {
		l.opened.Close()
	}
	i.listeners = nil
	i.conn.Close()
}

// takeOver is Server.TakeOver up to the predecessor's end. It calls before when it has
// everything, before it says so.
func (u *upgrades) takeOver(i *Inheritance, before func()) error {
	i.conn.Within(handover.StartTime)
	if err := i.conn.Send(handover.KindReady, nil, nil, nil); err != nil {
		return err
	}
	got, err := u.receive(i.conn)
	if err == nil {
		before()
		err = i.conn.Send(handover.KindTaken, nil, nil, nil)
	}
	if err != nil {
		got.drop()
		i.Refuse(err)
		return err
	}
	got.start()
	i.Close()
	u.host.Log.Info("took over", "from", i.from.PID, "version", i.from.Version, "publishers", got.publishers(), "viewers", got.viewers())
	return nil
}
