package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// atMost bounds every wait for something that has to happen.
const atMost = 30 * time.Second

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	os.Exit(m.Run())
}

// certificate makes one for 127.0.0.1 that is good for an hour, writes it and
// its key to files, and returns who trusts it.
func certificate(t *testing.T) (cert, key string, trust *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		NotBefore:             time.Now().Add(-time.Minute),
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, p []byte) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: p}), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	trust = x509.NewCertPool()
	trust.AddCert(parsed)
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", secret), trust
}

// start runs the server until the test ends.
func start(t *testing.T) (addr string, trust *x509.CertPool) {
	t.Helper()
	cert, key, trust := certificate(t)
	sluicetest.NoLeaks(t, nil)
	ctx, stop := context.WithCancel(context.Background())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, []string{"-addr", "127.0.0.1:0", "-cert", cert, "-key", key}, in)
		in.CloseWithError(io.EOF)
		ended <- err
	}()
	t.Cleanup(func() {
		stop()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the server ends with %v", err)
			}
		case <-time.After(atMost):
			t.Error("the server does not end")
		}
	})
	r := sluice.NewBufReader(out)
	defer r.Recycle()
	line, err := r.ReadLine()
	addr, ok := strings.CutPrefix(line, "listening on ")
	if err != nil || !ok {
		t.Fatalf("the first line is %q, %v", line, err)
	}
	return addr, trust
}

func dial(t *testing.T, addr string, trust *x509.CertPool) *tls.Conn {
	t.Helper()
	d := tls.Dialer{Config: &tls.Config{RootCAs: trust}}
	ctx, cancel := context.WithTimeout(t.Context(), atMost)
	defer cancel()
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(atMost)); err != nil {
		t.Fatal(err)
	}
	return c.(*tls.Conn)
}

func TestFramesComeBack(t *testing.T) {
	addr, trust := start(t)
	conn := dial(t, addr, trust)
	r, w := sluice.NewBufReader(conn), sluice.NewBufWriter(conn)
	defer r.Recycle()
	defer w.Recycle()
	sizes := []int{0, 1, 100, 16 << 10, 100_000, maxFrame}
	for _, together := range []bool{true, false} {
		wrote := make(chan error, 1)
		next := make(chan bool, len(sizes))
		go func() {
			for _, n := range sizes {
				err := w.WriteFrame(4, binary.BigEndian, mem.Wrap(bytes.Repeat([]byte{byte(n)}, n), nil))
				if err == nil && !together {
					err = w.Flush()
				}
				if err != nil {
					wrote <- err
					return
				}
				if !together && !<-next {
					break
				}
			}
			wrote <- w.Flush()
		}()
		for _, n := range sizes {
			b, err := r.ReadFrame(4, binary.BigEndian, 0)
			if err != nil || !bytes.Equal(b.Bytes(), bytes.Repeat([]byte{byte(n)}, n)) {
				t.Fatalf("together %v, %d bytes: %v", together, n, err)
			}
			b.Release()
			next <- true
		}
		if err := <-wrote; err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadByte(); err != io.EOF {
		t.Errorf("after the end: %v", err)
	}
}

func TestAFrameThatIsTooLongEndsTheConnection(t *testing.T) {
	addr, trust := start(t)
	conn := dial(t, addr, trust)
	if _, err := conn.Write(binary.BigEndian.AppendUint32(nil, maxFrame+1)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("read %d bytes, %v", n, err)
	}
}

func TestTheServerEndsUnderItsClients(t *testing.T) {
	addr, trust := start(t)
	dial(t, addr, trust) // idle when the cleanup of start stops the server
	plain, err := net.DialTimeout("tcp", addr, atMost)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { plain.Close() }) // never says anything
}

func TestWrongFlagsAreRefused(t *testing.T) {
	for _, args := range [][]string{{}, {"-cert", "nowhere", "-key", "nowhere"}} {
		if err := run(t.Context(), args, io.Discard); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}
