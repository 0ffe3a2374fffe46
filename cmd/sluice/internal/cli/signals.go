package cli

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay"
)

// beginEnd is how long a server that is being opened has for that when a signal ends it.
const beginEnd = 5 * time.Second

// signals are what an operator asks of a server that runs. Each kind has a channel of its own, since
// package signal drops what a channel has no room for: many of one kind, that come while the
// configuration is read, must not cost the one that ends the server.
type signals struct {
	end     chan os.Signal // for two: the second one ends at once
	reload  chan os.Signal // for one: it reads what has changed by then, whatever comes after it
	upgrade chan os.Signal // likewise
}

// receiveSignals receives signals until stop is called.
func receiveSignals() (s signals, stop func()) {
	s = signals{end: make(chan os.Signal, 2), reload: make(chan os.Signal, 1), upgrade: make(chan os.Signal, 1)}
	signal.Notify(s.end, os.Interrupt, syscall.SIGTERM)
	// Also where nohup has it ignored: it ends nothing here.
	signal.Notify(s.reload, syscall.SIGHUP)
	if upgradeSignal != nil {
		signal.Notify(s.upgrade, upgradeSignal)
	}
	return s, func() {
		signal.Stop(s.end)
		signal.Stop(s.reload)
		signal.Stop(s.upgrade)
	}
}

// begun returns what open does. A signal that ends the server is for the server when that is open; what hangs, as on a
// disk that does not answer, is left behind after beginEnd, and at a second signal.
func begun(s signals, open func() (*relay.Server, error)) (*relay.Server, error) {
	var server *relay.Server
	var err error
	over := make(chan struct{})
	go func() {
		defer close(over)
		server, err = open()
	}()
	select {
	case <-over:
		return server, err
	case first := <-s.end:
		late := time.NewTimer(beginEnd)
		defer late.Stop()
		select {
		case <-over:
			select {
			case s.end <- first:
			default: // there are others
			}
			return server, err
		case <-late.C:
		case <-s.end:
		}
	}
	return nil, fail(errors.New("serve: ended by a signal while it began, which hangs: a disk that does not answer, perhaps"))
}
