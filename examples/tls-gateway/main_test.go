package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// atMost bounds every wait for something that has to happen.
const atMost = 30 * time.Second

// certificate writes a certificate and its key, and returns a client's configuration.
func certificate(t *testing.T) (client *tls.Config, cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots := x509.NewCertPool()
	public, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(public)
	return &tls.Config{RootCAs: roots}, cert, key
}

// backend is a server that sends back what it gets.
func backend(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l
}

// start runs the gateway until the test ends and returns where it listens.
func start(t *testing.T, to, cert, key string) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"-addr", "127.0.0.1:0", "-to", to, "-cert", cert, "-key", key, "-watchers", "2"}, w)
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the gateway ends with %v", err)
		}
	})
	line := make([]byte, 100)
	n, err := r.Read(line)
	addr, ok := strings.CutPrefix(strings.TrimSpace(string(line[:n])), "listening on ")
	if err != nil || !ok {
		t.Fatalf("%q, %v", line[:n], err)
	}
	go io.Copy(io.Discard, r)
	return addr
}

func dial(t *testing.T, addr string, config *tls.Config) *tls.Conn {
	t.Helper()
	c, err := tls.DialWithDialer(&net.Dialer{Deadline: time.Now().Add(atMost)}, "tcp", addr, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(atMost)); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheServerHearsWhatClientsSay(t *testing.T) {
	config, cert, key := certificate(t)
	addr := start(t, backend(t).Addr().String(), cert, key)
	said := bytes.Repeat([]byte("gateway "), 100_000)
	for range 3 {
		c := dial(t, addr, config)
		wrote := make(chan error, 1)
		go func() {
			_, err := c.Write(said)
			wrote <- err
		}()
		heard := make([]byte, len(said))
		if _, err := io.ReadFull(c, heard); err != nil || !bytes.Equal(said, heard) {
			t.Errorf("other bytes, or %v", err)
		}
		if err := <-wrote; err != nil {
			t.Error(err)
		}
	}
}

func TestTheEndOfTheServerEndsTheClient(t *testing.T) {
	config, cert, key := certificate(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	addr := start(t, l.Addr().String(), cert, key)
	c := dial(t, addr, config)
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(server, "goodbye"); err != nil {
		t.Fatal(err)
	}
	server.Close()
	if p, err := io.ReadAll(c); string(p) != "goodbye" || err != nil {
		t.Errorf("the client reads %q, %v", p, err)
	}
}

func TestNoServer(t *testing.T) {
	config, cert, key := certificate(t)
	l := backend(t)
	l.Close()
	c := dial(t, start(t, l.Addr().String(), cert, key), config)
	if p, err := io.ReadAll(c); len(p) > 0 || err != nil {
		t.Errorf("the client reads %q, %v", p, err)
	}
}

func TestWrongFlagsAreRefused(t *testing.T) {
	_, cert, key := certificate(t)
	for _, args := range [][]string{{"extra"}, {"-watchers", "0"}, {"-cert", "none.pem"}, {"-cert", cert, "-key", key, "-addr", "nowhere"}} {
		if err := run(t.Context(), args, io.Discard); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}
