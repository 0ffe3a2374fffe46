// Package dialtls is the client's side of TLS for all that the relay connects to: origins,
// sources, push targets and hooks. Its functions keep nothing and may be called concurrently.
package dialtls

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"runtime"
)

// Client makes the handshake with the server of that name on conn, transferred. config may be
// nil. The error says what to do about a certificate of an authority that is not known here.
func Client(ctx context.Context, conn net.Conn, config *tls.Config, name string) (net.Conn, error) {
	encrypted := tls.Client(conn, Config(config, name))
	if err := encrypted.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, Explain(err)
	}
	return encrypted, nil
}

// Config returns a copy of config, which may be nil, for the server of that name.
func Config(config *tls.Config, name string) *tls.Config {
	if config = config.Clone(); config == nil {
		config = &tls.Config{}
	}
	if config.ServerName == "" {
		config.ServerName = name
	}
	return config
}

// Explain adds to the error of a connection what helps when the server's certificate is that of
// an unknown authority.
func Explain(err error) error {
	var unknown x509.UnknownAuthorityError
	if !errors.As(err, &unknown) {
		return err
	}
	return fmt.Errorf("%w; %s", err, help(runtime.GOOS))
}

// help says how to add an authority on this system: crypto/x509 asks the system itself on some.
func help(system string) string {
	if system == "windows" || system == "darwin" {
		return "add the certificate of its authority to those that the system trusts"
	}
	return "add the certificate of its authority to those that the system trusts, or start this program with SSL_CERT_FILE=FILE, the file with it (PEM)"
}
