package relay

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/listen"
)

// An endpoint is an address of the settings, and what serves its connections.
type endpoint struct {
	setting string // name of the setting
	address string // as it was configured
	serve   func(net.Listener) error
}

// A listener is one address that the server listens at.
type listener struct {
	net.Listener
	endpoint
	pausing *listen.Pausing // nil: another process cannot have it
}

// listeners are all that there are. They belong to the goroutine that opens them until the
// server serves; then there are no others.
type listeners struct {
	given   func(setting, address string) net.Listener // nil: none is
	proxies *listen.Proxies
	header  time.Duration // for a header of the PROXY protocol
	// lacks is called when a trusted proxy has sent none, now and then.
	lacks func(setting string, proxy net.Addr, err error)

	list []*listener
	at   atomic.Pointer[map[string]string] // nil before Listen
}

// A ListenError says which listener could not be opened.
type ListenError struct {
	Setting string // rtmp, rtmps, http, https, rtsp, rtsps, rtsp-udp, webrtc, srt, pprof, cluster-address, upgrade-socket
	Address string
	Err     error
}

func (e *ListenError) Error() string {
	why := e.Err.Error()
	var op *net.OpError
	if errors.As(e.Err, &op) {
		why = op.Err.Error()
	}
	var number syscall.Errno
	if errors.As(e.Err, &number) {
		why = number.Error()
	}
	return fmt.Sprintf("%s: cannot listen at %s: %s", e.Setting, e.Address, why)
}

func (e *ListenError) Unwrap() error { return e.Err }

// open opens a listener at each endpoint that is on, up to the first that fails. proxied are
// the settings whose connections begin with a header of the PROXY protocol.
func (l *listeners) open(endpoints []endpoint, proxied []string) error {
	for _, e := range endpoints {
		if !config.On(e.address) {
			continue
		}
		var opened net.Listener
		if l.given != nil {
			opened = l.given(e.setting, e.address)
		}
		var err error
		if opened == nil {
			opened, err = net.Listen("tcp", e.address)
		}
		if err != nil {
			return &ListenError{e.setting, e.address, err}
		}
		var pausing *listen.Pausing
		if tcp, ok := opened.(*net.TCPListener); ok {
			pausing = &listen.Pausing{TCPListener: tcp}
			opened = pausing
		}
		if slices.Contains(proxied, e.setting) {
			opened = l.proxies.Listener(opened, l.header, func(proxy net.Addr, err error) { l.lacks(e.setting, proxy, err) })
		}
		l.list = append(l.list, &listener{opened, e, pausing})
	}
	return nil
}

// add adds one, transferred, that another process cannot have.
func (l *listeners) add(opened net.Listener, e endpoint) {
	l.list = append(l.list, &listener{opened, e, nil})
}

// movable are those that another process can have.
func (l *listeners) movable() (list []*listener) {
	for _, one := range l.list {
		if one.pausing != nil {
			list = append(list, one)
		}
	}
	return list
}

// pause makes those that another process can have accept nothing until resume.
func (l *listeners) pause() {
	for _, one := range l.movable() {
		one.pausing.Pause()
	}
}

func (l *listeners) resume() {
	for _, one := range l.movable() {
		one.pausing.Resume()
	}
}

// addresses returns where the listeners are, by the names of the settings.
func (l *listeners) addresses() map[string]string {
	at := make(map[string]string, len(l.list))
	for _, one := range l.list {
		at[one.setting] = one.Addr().String()
	}
	return at
}

func (l *listeners) close() {
	for _, one := range l.list {
		one.Close()
	}
}
