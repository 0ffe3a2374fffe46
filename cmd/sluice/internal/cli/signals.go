package cli

import (
	"os"
	"os/signal"
	"syscall"
)

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
