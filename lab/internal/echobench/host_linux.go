package echobench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// drainTime is how long a server may take to notice that its clients are gone.
const drainTime = 20 * time.Second

// HostServer is a server's process: it listens, says its address on out in a
// line, and then answers the lines of in, each with one line of out:
//
//	usage   a Usage, for ParseUsage
//	drain   ok, when there is no connection any more
//	rss     the resident bytes of the process
//	live    the bytes in live objects and stacks
//
// It returns when in ends, or with what went wrong.
func HostServer(s Server, size int, in io.Reader, out io.Writer) error {
	if err := checkSize(size); err != nil {
		return err
	}
	runtime.GOMAXPROCS(1) // it has one processor
	l, err := Listen(size)
	if err != nil {
		return err
	}
	census := NewCensus()
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(l, size, census) }()
	answered := make(chan error, 1)
	go func() { answered <- answerServer(l, census, in, out) }()
	select {
	case err = <-failed:
	case err = <-answered:
	}
	l.Close()
	return err
}

func answerServer(l net.Listener, census *Census, in io.Reader, out io.Writer) error {
	if _, err := fmt.Fprintln(out, l.Addr()); err != nil {
		return err
	}
	var m meter
	line := make([]byte, 0, 256)
	for asked := bufio.NewScanner(in); ; {
		if !asked.Scan() {
			return asked.Err()
		}
		line = line[:0]
		switch string(asked.Bytes()) {
		case "usage":
			line = m.read().append(line)
		case "drain":
			if err := census.Drained(drainTime); err != nil {
				return err
			}
			line = append(line, "ok"...)
		case "rss":
			n, err := resident()
			if err != nil {
				return err
			}
			line = strconv.AppendInt(line, n, 10)
		case "live":
			line = strconv.AppendInt(line, settled(census.Open()), 10)
		default:
			return fmt.Errorf("echo: the server was asked %.40q", asked.Bytes())
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
}

// HostClient is a client's process: it answers the lines of in, each with a
// Result as JSON in one line of out:
//
//	connect N               Client.Connect
//	closed OPS              Client.Closed
//	paced OPS NANOSECONDS   Client.Paced
//	hangup                  Client.HangUp, and an empty Result
//
// It speaks TLS if secure is set. It returns when in ends, or with what went wrong.
func HostClient(server netip.AddrPort, size int, seed uint64, secure bool, in io.Reader, out io.Writer) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if secure {
		runtime.GOMAXPROCS(1) // it has one processor, and many goroutines
	}
	c, err := newHosted(server, size, seed, secure)
	if err != nil {
		return err
	}
	defer c.Close()
	answers := json.NewEncoder(out)
	for asked := bufio.NewScanner(in); ; {
		if !asked.Scan() {
			return asked.Err()
		}
		r, err := answer(c, strings.Fields(asked.Text()))
		if err != nil {
			return err
		}
		if err := answers.Encode(r); err != nil {
			return err
		}
	}
}

func answer(c hosted, words []string) (Result, error) {
	var numbers []int
	for i, word := range words {
		if i == 0 {
			continue
		}
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 {
			return Result{}, fmt.Errorf("echo: %.40q is no number of what to do", word)
		}
		numbers = append(numbers, n)
	}
	switch {
	case len(words) == 2 && words[0] == "connect":
		return c.Connect(numbers[0])
	case len(words) == 2 && words[0] == "closed":
		return c.Closed(numbers[0])
	case len(words) == 3 && words[0] == "paced":
		return c.Paced(numbers[0], time.Duration(numbers[1]))
	case len(words) == 1 && words[0] == "hangup":
		c.HangUp()
		return Result{}, nil
	}
	return Result{}, fmt.Errorf("echo: the client was asked %.40q", words)
}
