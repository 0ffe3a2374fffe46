package scenarios

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"

	"github.com/sluice-go/sluice/lab/internal/child"
)

var _ = registerChild("idle-clients", idleClients)

// idleClients is the child that opens connections to an address, sends one
// message on each, and then keeps them open without another word.
func idleClients(args []string) error {
	if err := childArgs("idle-clients", args, "ADDRESS", "CONNECTIONS", "BYTES"); err != nil {
		return err
	}
	count, err := strconv.Atoi(args[1])
	if err != nil || count < 1 {
		return fmt.Errorf("scenarios: %s connections", strconv.Quote(args[1]))
	}
	size, err := strconv.Atoi(args[2])
	if err != nil || size < 1 {
		return fmt.Errorf("scenarios: messages of %s bytes", strconv.Quote(args[2]))
	}
	child.Begin(childLife)
	runtime.GOMAXPROCS(1) // it writes, and leaves the rest to the reader
	message := bytes.Repeat([]byte("idle until now. "), size/16+1)[:size]
	conns := make([]net.Conn, 0, count)
	for range count {
		conn, err := net.DialTimeout("tcp", args[0], childStart)
		if err != nil {
			return err
		}
		// Closed with a reset, no trace of the connection stays in the kernel
		// for minutes.
		if err := conn.(*net.TCPConn).SetLinger(0); err != nil {
			return err
		}
		if _, err := conn.Write(message); err != nil {
			return err
		}
		conns = append(conns, conn)
	}
	// Until the parent closes our standard input, which ends the process.
	var end [1]byte
	for {
		if _, err := os.Stdin.Read(end[:]); err != nil {
			break
		}
	}
	for _, conn := range conns {
		conn.Close()
	}
	return nil
}
