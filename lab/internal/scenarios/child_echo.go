package scenarios

import (
	"fmt"
	"net/netip"
	"os"
	"strconv"

	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/echobench"
)

var _ = registerChild("echo-server", echoServer)

// echoServer is the child that echoes, in the way of a name.
func echoServer(args []string) error {
	if err := childArgs("echo-server", args, "SERVER", "BYTES", "GOMAXPROCS"); err != nil {
		return err
	}
	s, err := echobench.Lookup(args[0])
	if err != nil {
		return err
	}
	size, err := echoSize(args[1])
	if err != nil {
		return err
	}
	procs, err := strconv.Atoi(args[2])
	if err != nil || procs < 1 {
		return fmt.Errorf("scenarios: GOMAXPROCS %s", strconv.Quote(args[2]))
	}
	child.Expire(childLife)
	return echobench.HostServer(s, size, procs, os.Stdin, os.Stdout)
}

var _ = registerChild("echo-client", echoClient)

// echoClient is the child that sends to an echo server, as commands on standard input say.
func echoClient(args []string) error {
	if err := childArgs("echo-client", args, "ADDRESS", "BYTES", "SEED", "TLS"); err != nil {
		return err
	}
	addr, err := netip.ParseAddrPort(args[0])
	if err != nil {
		return fmt.Errorf("scenarios: %w", err)
	}
	size, err := echoSize(args[1])
	if err != nil {
		return err
	}
	seed, err := strconv.ParseUint(args[2], 10, 64)
	if err != nil {
		return fmt.Errorf("scenarios: seed %s", strconv.Quote(args[2]))
	}
	secure, err := strconv.ParseBool(args[3])
	if err != nil {
		return fmt.Errorf("scenarios: TLS %s", strconv.Quote(args[3]))
	}
	child.Expire(childLife)
	return echobench.HostClient(addr, size, seed, secure, os.Stdin, os.Stdout)
}

func echoSize(arg string) (int, error) {
	size, err := strconv.Atoi(arg)
	if err != nil || size < 1 {
		return 0, fmt.Errorf("scenarios: messages of %s bytes", strconv.Quote(arg))
	}
	return size, nil
}
