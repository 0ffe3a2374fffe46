package webrtc

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os/exec"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// Answers name the addresses that the machine has at the moment: an interface may come up, and one of IPv6
// get its addresses, after the server has begun.
func TestAddressesThatComeLateAreInAnswers(t *testing.T) {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for ever: the thread goes, with its network
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			err = comeLate(t)
		}
		done <- err
	}()
	if err := <-done; err == unix.EPERM {
		t.Skip("interfaces of its own need the right to make a network namespace")
	} else if err != nil {
		t.Error(err)
	}
}

// comeLate runs in a network of its own, whose interface is down.
func comeLate(t *testing.T) error {
	s := &Server{Host: &session.Host{Log: slog.New(slog.DiscardHandler), Ctx: t.Context()}}
	p, err := openPorts(":0", s)
	if err != nil {
		return err
	}
	defer p.close()
	port := handshakeUDP{UDPMuxDefault: p.udp, loopback: true}
	if list := port.GetListenAddresses(); len(list) > 0 {
		return fmt.Errorf("%v while no interface is up", list)
	}
	if out, err := exec.Command("sh", "-c", "ip link set lo up && ip addr add 192.0.2.1/32 dev lo").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	want := netip.AddrPortFrom(netip.MustParseAddr("192.0.2.1"), uint16(p.number()))
	list := port.GetListenAddresses()
	if !slices.ContainsFunc(list, func(a net.Addr) bool { return a.(*net.UDPAddr).AddrPort() == want }) {
		return fmt.Errorf("%v without %v, which came late", list, want)
	}
	return nil
}

// The zone of an address means nothing to clients.
func TestAddressesForClientsHaveNoZone(t *testing.T) {
	list, err := resolve(t.Context(), []string{"fe80::1%eth0", "::ffff:192.0.2.1"})
	if want := []netip.Addr{netip.MustParseAddr("fe80::1"), netip.MustParseAddr("192.0.2.1")}; err != nil || !slices.Equal(list, want) {
		t.Errorf("%v, %v, want %v", list, err, want)
	}
}
