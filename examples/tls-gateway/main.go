// Command tls-gateway speaks TLS with clients and passes on what they say to a server
// that does not, and back. It shows TLS without a goroutine for each connection, two
// connections that are paced by each other, and work that waits (to dial) beside the
// event loop.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
)

const usage = `tls-gateway speaks TLS with clients and passes on what they say, decrypted.

usage: tls-gateway -to ADDRESS -cert cert.pem -key key.pem [flags]

For a first try make a certificate with
	go run "$(go env GOROOT)/src/crypto/tls/generate_cert.go" -host 127.0.0.1
What ends on one side ends on the other, when that has all that was said before; when
both have ended, both are closed. An interrupt or SIGTERM ends the gateway.

flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "tls-gateway:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("tls-gateway", flag.ExitOnError)
	addr := flags.String("addr", "127.0.0.1:7005", "listen on this `address`; port 0 takes any that is free")
	to := flags.String("to", "127.0.0.1:7000", "pass on to this `address`")
	cert := flags.String("cert", "cert.pem", "the certificate, a PEM `file`")
	key := flags.String("key", "key.pem", "its key, a PEM `file`")
	watchers := flags.Int("watchers", 1, "so many event loops, which share the clients")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || *watchers < 1 {
		return fmt.Errorf("want no arguments but flags, and at least 1 watcher, got %q", args)
	}
	pair, err := tls.LoadX509KeyPair(*cert, *key)
	if err != nil {
		return err
	}
	listeners, err := aio.Listen(ctx, "tcp", *addr, 1)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "listening on", listeners[0].Addr())
	g := &gateway{ctx: ctx, to: *to, log: log.Default()}
	h := g.handler(&tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	return (&aio.Server{Handler: h, Watchers: *watchers}).Serve(ctx, listeners)
}

// side is the state of a connection, of a client or to the server.
type side struct {
	other *link // nil until the server is there
	ended bool
}

// takes is how long a side may take for what was passed on to it. Clients that say nothing
// are for the server to end, which knows how long they may: its end is passed on.
const takes = 5 * time.Minute

// link is a connection of the gateway.
type link = aio.Conn[side]

type gateway struct {
	ctx context.Context
	to  string
	log *log.Logger
}

func (g *gateway) handler(config *tls.Config) *aio.ConnHandler[side] {
	return &aio.ConnHandler[side]{
		TLS:          config,
		WriteTimeout: takes,
		Open:         g.open,
		Buf: func(c *link, b mem.Buf) error {
			return c.State.other.WriteBuf(b) //sluice:moved
		},
		// When both have ended, both are closed.
		Ended: func(c *link) error { return c.State.other.CloseWrite() },
		Closed: func(c *link, reason error) {
			c.State.ended = true
			if c.State.other != nil {
				c.State.other.Close() // when it has all that was passed on
			}
			if reason != io.EOF && reason != net.ErrClosed && !errors.Is(reason, aio.ErrWatcherClosed) {
				g.log.Printf("%v: %v", c.RemoteAddr(), reason)
			}
		},
		Refused: func(remote net.Addr, err error) { g.log.Printf("%v: handshake: %v", remote, err) },
	}
}

// open has a client wait until the server is there.
func (g *gateway) open(c *link) error {
	c.Pause()
	go func() {
		d := net.Dialer{Timeout: 5 * time.Second} // for the server to accept
		conn, err := d.DialContext(g.ctx, "tcp", g.to)
		if err != nil {
			g.log.Print(err)
			c.Close()
			return
		}
		if c.Do(func() { connect(c, conn) }) != nil {
			conn.Close() // the gateway has ended
		}
	}()
	return nil
}

// connect has the client and the server talk.
func connect(c *link, conn net.Conn) {
	if c.State.ended {
		conn.Close()
		return
	}
	c.State.other = c.Attach(conn, side{other: c})
	c.PaceBy(c.State.other)
	c.State.other.PaceBy(c)
	c.Resume()
}
