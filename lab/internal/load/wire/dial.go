package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// Dial makes a connection on which requests can be sent: after the handshakes of
// TLS and of a WebSocket, and after AUTH and SELECT of Redis. ctx bounds all of it.
func (t *Target) Dial(ctx context.Context) (net.Conn, error) {
	if t.Is("file") {
		return nil, fmt.Errorf("%v: a file is not dialled: %w", t, errors.ErrUnsupported)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, t.network, t.addr)
	if err != nil {
		return nil, err
	}
	if at, ok := ctx.Deadline(); ok {
		conn.SetDeadline(at)
	}
	if conn, err = t.greet(ctx, conn); err != nil {
		return nil, fmt.Errorf("%v: %w", t, err)
	}
	conn.SetDeadline(time.Time{})
	return conn, nil
}

// greet does what comes before requests. The connection is transferred.
func (t *Target) greet(ctx context.Context, conn net.Conn) (net.Conn, error) {
	if t.tls {
		config, err := t.tlsConfig()
		if err != nil {
			conn.Close()
			return nil, err
		}
		secure := tls.Client(conn, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			conn.Close()
			var untrusted *tls.CertificateVerificationError
			if errors.As(err, &untrusted) {
				err = fmt.Errorf("%w (--ca FILE trusts the certificates in it, --insecure any)", err)
			} else if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
				err = fmt.Errorf("the handshake of TLS had no answer: %w", err)
			}
			return nil, err
		}
		conn = secure
	}
	switch {
	case t.Is("ws", "wss"):
		header, host := t.http.header(t.url)
		plain := *t.url
		plain.User = nil
		return newMessages(ctx, conn, plain.String(), header, host)
	case t.Is("redis", "rediss"):
		if err := t.login(conn); err != nil {
			conn.Close()
			return nil, err
		}
	}
	return conn, nil
}

func (t *Target) login(conn net.Conn) error {
	var lines []string
	if password, ok := t.url.User.Password(); ok {
		args := []string{"AUTH"}
		if name := t.url.User.Username(); name != "" {
			args = append(args, name)
		}
		lines = append(lines, array(append(args, password)...))
	}
	if database := strings.Trim(t.url.Path, "/"); database != "" {
		lines = append(lines, array("SELECT", database))
	}
	r := bufio.NewReader(conn)
	for _, line := range lines {
		if _, err := conn.Write([]byte(line)); err != nil {
			return err
		}
		reply, err := r.ReadString('\n')
		if err != nil {
			return err
		}
		if !strings.HasPrefix(reply, "+") {
			return fmt.Errorf("the target says %q", strings.TrimSpace(reply))
		}
	}
	return nil
}

func array(args ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	return b.String()
}
