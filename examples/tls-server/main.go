// Command tls-server sends back frames with a 4-byte length over TLS. It shows
// that BufReader and BufWriter take a tls.Conn like any other connection: many
// small answers leave as one TLS record, and what an idle client holds of ours
// is the smallest block that its last messages fitted in.
package main

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/sluice-go/sluice"
)

const (
	maxFrame  = 1 << 20          // bytes; a client that announces a longer frame is disconnected
	greeting  = 10 * time.Second // for the handshake
	timeLimit = time.Minute      // for each read and for each flush
	pause     = time.Second / 10 // after a client that could not be accepted
)

const usage = `tls-server sends back frames with a 4-byte length over TLS.

usage: tls-server -cert cert.pem -key key.pem [flags]

For a first try make a certificate with
	go run "$(go env GOROOT)/src/crypto/tls/generate_cert.go" -host 127.0.0.1

flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "tls-server:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("tls-server", flag.ExitOnError)
	addr := flags.String("addr", "127.0.0.1:7003", "listen on this `address`; port 0 takes any that is free")
	cert := flags.String("cert", "cert.pem", "the certificate, a PEM `file`")
	key := flags.String("key", "key.pem", "its key, a PEM `file`")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("want no arguments but flags, got %q", args)
	}
	pair, err := tls.LoadX509KeyPair(*cert, *key)
	if err != nil {
		return err
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	l, err := tls.Listen("tcp", *addr, config)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "listening on", l.Addr())
	return serve(ctx, l)
}

// serve accepts clients until ctx is done, and returns when all are gone.
func serve(ctx context.Context, l net.Listener) error {
	defer context.AfterFunc(ctx, func() { l.Close() })()
	var clients sync.WaitGroup
	defer clients.Wait()
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		default: // descriptors have run out, for example: those who are here go on
			log.Print(err)
			time.Sleep(pause)
			continue
		}
		clients.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			if err := echo(ctx, conn.(*tls.Conn)); err != io.EOF && !errors.Is(err, net.ErrClosed) {
				log.Printf("%v: %v", conn.RemoteAddr(), err)
			}
		})
	}
}

// echo answers each frame with itself until the client ends.
func echo(ctx context.Context, conn *tls.Conn) error {
	// Reads and flushes have deadlines of their own; the handshake does both.
	ctx, cancel := context.WithTimeout(ctx, greeting)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		return err
	}
	r := sluice.NewBufReader(conn)
	defer r.Recycle()
	w := sluice.NewBufWriter(conn)
	defer w.Recycle()
	if err := errors.Join(r.SetTimeout(timeLimit), w.SetTimeout(timeLimit)); err != nil {
		return err
	}
	for {
		frame, err := r.ReadFrame(4, binary.BigEndian, maxFrame) // retained
		if err != nil {
			return err // io.EOF between two frames
		}
		err = w.WriteFrame(4, binary.BigEndian, frame) // transferred, also when it fails
		if err == nil && r.Buffered() == 0 {
			err = w.Flush() // what came together is answered together
		}
		if err != nil {
			return err
		}
	}
}
