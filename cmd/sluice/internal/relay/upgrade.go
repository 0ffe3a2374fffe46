package relay

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/handover"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// ErrUpgrading: another process is taking over already, or has.
var ErrUpgrading = errors.New("an upgrade goes on already")

// upgrades give what this server has to another process, one at a time, and take over what
// another has.
type upgrades struct {
	host      *session.Host
	listeners *listeners
	serving   *protocols
	orders    handedOrders
	version   string       // of the program
	room      func() error // why there is no memory for another process

	one    sync.Mutex    // held during a handover
	done   chan struct{} // closed when another process has taken over
	start  time.Duration // for a successor to become ready
	socket upgradeSocket
}

// settleTime is for how long connections that have not made their request yet may do so
// before the handover: what has not become a session cannot be given away.
const settleTime = 250 * time.Millisecond

// handOver is Server.HandOver.
func (u *upgrades) handOver(c *handover.Conn) (err error) {
	defer c.Close()
	if !u.one.TryLock() {
		c.Refuse(ErrUpgrading.Error())
		return ErrUpgrading
	}
	defer u.one.Unlock()
	if u.handedOver() || !u.socket.begin(c) {
		c.Refuse(ErrUpgrading.Error())
		return ErrUpgrading
	}
	defer u.socket.end()
	hello, err := u.introduce(c)
	if err != nil {
		u.host.Log.Warn("no upgrade", "error", err)
		return err
	}
	log := u.host.Log.With("pid", hello.PID, "to", hello.Version)
	log.Info("upgrade begins")
	c.Within(u.start)
	if _, err = c.Expect(handover.KindReady, nil); err == nil {
		endStaying(u.host, u.listeners)
		err = u.give(c, hello.Kinds)
	} else {
		err = fmt.Errorf("the new process does not become ready: %w", err)
	}
	if err != nil {
		log.Warn("upgrade failed, this server goes on", "error", err)
		return err
	}
	return nil
}

func (u *upgrades) handedOver() bool {
	select {
	case <-u.done:
		return true
	default:
		return false
	}
}

// introduce answers a process that says that it wants to take over, and gives it the
// listeners.
func (u *upgrades) introduce(c *handover.Conn) (hello handover.Hello, err error) {
	defer func() {
		if err != nil {
			c.Refuse(err.Error())
		}
	}()
	c.Within(handover.HelloTime)
	if _, err = c.Expect(handover.KindHello, &hello); err != nil {
		return hello, fmt.Errorf("the new process says nothing: %w", err)
	}
	if hello.Format != handover.Format {
		return hello, fmt.Errorf("%w: format %d, this server has %d", handover.ErrProtocol, hello.Format, handover.Format)
	}
	if err = errors.Join(u.mayHandOver(hello.Kinds), u.room()); err != nil {
		return hello, err
	}
	listeners := u.listeners.movable()
	if err = c.Send(handover.KindWelcome, handover.Welcome{Format: handover.Format, Version: u.version, PID: os.Getpid(), Listeners: len(listeners)}, nil, nil); err != nil {
		return hello, err
	}
	for _, l := range listeners {
		if err = c.Send(handover.KindListener, handover.Listener{Setting: l.setting, Address: l.address}, nil, l.pausing.TCPListener); err != nil {
			return hello, err
		}
	}
	return hello, nil
}

// mayHandOver returns why a process that can take over these kinds of state cannot have
// what there is.
func (u *upgrades) mayHandOver(kinds []string) error {
	c := u.host.Config()
	switch {
	case c.Cluster:
		return fmt.Errorf("a node of a cluster %w", errNotMovable)
	case len(c.Origin) > 0, len(c.Source) > 0:
		return fmt.Errorf("what is pulled from an origin or a source %w", errNotMovable)
	case c.EventHook != "" && c.EventSpool != "":
		return fmt.Errorf("a spool of events, which one process has, %w", errNotMovable)
	}
	for _, p := range u.host.Register.List() {
		if p.Role == session.RolePublisher && u.host.For(p.Stream).Takeover == config.TakeoverStandby {
			return fmt.Errorf("a publisher with a standby %w", errNotMovable)
		}
	}
	return carries(kinds, u.orders)
}

// give pauses everything, sends it to a process that can take over these kinds, and returns
// nil when it was taken. Otherwise everything goes on.
func (u *upgrades) give(c *handover.Conn, kinds []string) error {
	u.listeners.pause()
	u.settle()
	began := time.Now()
	c.Within(handover.TakeTime)
	cargo := pack(u.host, u.orders)
	taken, err := u.deliver(c, cargo, kinds)
	if !taken {
		cargo.unpack()
		u.listeners.resume()
		return err
	}
	cargo.divide()
	close(u.done)
	cargo.leave()
	u.host.Log.Info("handed over", "publishers", cargo.publishers(), "viewers", cargo.viewers(), "took", time.Since(began).Round(time.Microsecond))
	return nil
}

// deliver sends the cargo, and reports whether it was taken.
func (u *upgrades) deliver(c *handover.Conn, p *cargo, kinds []string) (taken bool, err error) {
	if err = p.send(c, kinds); err != nil {
		return false, c.Reason(err) // not whole, so it cannot have been taken
	}
	_, err = c.Expect(handover.KindTaken, nil)
	if err == nil || c.GiveUp() {
		return true, nil
	}
	return false, err
}

// settle waits until connections that have just come have become sessions, or for
// settleTime.
func (u *upgrades) settle() {
	for end := time.Now().Add(settleTime); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		a, b := u.serving.rtmp.Arrivals.Stats(), u.serving.web.Arrivals.Stats()
		if a.On+a.Waiting+b.On+b.Waiting == 0 {
			return
		}
	}
}

// letGo ends what keeps ports that the successor waits for, and says which sessions end
// because they could not be handed over.
func (u *upgrades) letGo() {
	u.one.Lock() // until what was given away is off the register
	defer u.one.Unlock()
	left := map[string]int{}
	for _, c := range u.host.Register.List() {
		left[c.Protocol]++
		c.EndBecause(session.ErrUpgrade)
		switch c.Protocol {
		case session.SRT, session.WHIP, session.WHEP:
			c.Stop(session.ErrUpgrade)
		}
	}
	if len(left) > 0 {
		u.host.Log.Info("sessions that cannot be handed over end", "by protocol", left)
	}
	u.serving.closePorts()
}
