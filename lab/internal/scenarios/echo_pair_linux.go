package scenarios

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"

	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/echobench"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/lab/internal/proc"
)

// The figures of the echo scenarios, besides those that all have. Times of the
// processor, allocations and collections are the server's there.
const (
	perSecond  = "req/s"          // messages that came back whole, by the client's clock
	perRequest = "cpu-ns/request" // where an operation is many requests
	senderTime = "sender-ns/op"   // the client's time when it did not wait: near all of it, the client was the limit
	p50        = "p50-ns"         // from when a message was due to when its echo was complete
	p99        = "p99-ns"
	sentLate   = "sent-late-ns" // how much after it was due one message in a hundred was sent, or more
	residentBy = "rss-B/conn"
)

// echoPair is a server and its client, each a process of its own on a processor
// of its own.
type echoPair struct {
	server, client *child.Process
}

func newEchoPair(env lab.Env, name string, size int) (*echoPair, error) {
	s, err := echobench.Lookup(name)
	if err != nil {
		return nil, err
	}
	serverCPU, clientCPU, err := echobench.Processors()
	if err = errors.Join(err, s.Supported()); err != nil {
		return nil, err
	}
	p := &echoPair{}
	var addr netip.AddrPort
	if p.server, err = onProcessor(serverCPU, func() (*child.Process, error) { return echoServer.start(env.Self, echoServerWork{name, size}) }); err == nil {
		var line string
		if line, err = lineOf(p.server); err == nil {
			addr, err = netip.ParseAddrPort(line)
		}
	}
	if err == nil {
		p.client, err = onProcessor(clientCPU, func() (*child.Process, error) {
			return echoClient.start(env.Self, echoClientWork{addr, size, env.Seed, s.TLS})
		})
	}
	if err != nil {
		return nil, p.closed(err)
	}
	return p, nil
}

func onProcessor[T any](cpu int, start func() (T, error)) (v T, err error) {
	err = echobench.OnProcessor(cpu, func() (err error) {
		v, err = start()
		return err
	})
	return v, err
}

func (p *echoPair) closed(err error) error {
	p.close()
	return err
}

func (p *echoPair) close() error {
	for _, c := range []*child.Process{p.client, p.server} {
		if c != nil {
			c.Stop()
		}
	}
	return nil
}

func ask(c *child.Process, question string) (string, error) {
	if err := c.Tell(question); err != nil {
		return "", fmt.Errorf("scenarios: %w", err)
	}
	answer, err := lineOf(c)
	if err != nil {
		return "", fmt.Errorf("%w, asked to %s", err, question)
	}
	return answer, nil
}

func askFor[T any](c *child.Process, question string) (v T, err error) {
	line, err := ask(c, question)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal([]byte(line), &v); err != nil {
		return v, fmt.Errorf("scenarios: a child answered %.60q: %w", line, err)
	}
	return v, nil
}

func (p *echoPair) do(what string, numbers ...int) (echobench.Result, error) {
	for _, n := range numbers {
		what += " " + strconv.Itoa(n)
	}
	return askFor[echobench.Result](p.client, what)
}

func (p *echoPair) usage() (proc.Usage, error) {
	return askFor[proc.Usage](p.server, "usage")
}

func (p *echoPair) hangUp() error {
	if _, err := p.do("hangup"); err != nil {
		return err
	}
	_, err := ask(p.server, "drain")
	return err
}

func (p *echoPair) during(work func() (echobench.Result, error)) (echobench.Result, proc.Work, error) {
	before, err := p.usage()
	if err != nil {
		return echobench.Result{}, proc.Work{}, err
	}
	r, err := work()
	if err != nil {
		return r, proc.Work{}, err
	}
	after, err := p.usage()
	return r, before.To(after), err
}

func echoFigures(r echobench.Result, s proc.Work, ops int) map[string]float64 {
	n := float64(ops)
	return map[string]float64{
		lab.CPUPerOp:    float64(s.CPU.Nanoseconds()) / n,
		lab.NsPerOp:     float64(r.Wall.Nanoseconds()) / n,
		lab.AllocsPerOp: float64(s.Mallocs) / n,
		lab.BytesPerOp:  float64(s.Bytes) / n,
		lab.GCRuns:      float64(s.GCs),
		perSecond:       float64(r.Messages) / r.Wall.Seconds(),
		senderTime:      float64((r.Wall - r.Waited).Nanoseconds()) / n,
	}
}

type echoServerWork struct {
	Server string
	Size   int
}

var echoServer = registerChild("echo-server", func(w echoServerWork) error {
	s, err := echobench.Lookup(w.Server)
	if err != nil {
		return err
	}
	return echobench.HostServer(s, w.Size, os.Stdin, os.Stdout)
})

type echoClientWork struct {
	Addr netip.AddrPort
	Size int
	Seed uint64
	TLS  bool
}

var echoClient = registerChild("echo-client", func(w echoClientWork) error {
	return echobench.HostClient(w.Addr, w.Size, w.Seed, w.TLS, os.Stdin, os.Stdout)
})
