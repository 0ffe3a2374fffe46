// Package testcert makes certificates for tests. They certify themselves, for the name
// "peer" and for this machine, and are good for an hour.
package testcert

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Name is the name that the certificates are for, besides localhost, 127.0.0.1 and ::1.
const Name = "peer"

// shared is made once in a process.
var shared = sync.OnceValues(func() (tls.Certificate, error) { return create(1) })

func create(serial int64) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(time.Hour),
		DNSNames:     []string{Name, "localhost"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	leaf, err := x509.ParseCertificate(der)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, err
}

// Server returns the settings of a server with the certificate that tests share.
func Server(t testing.TB) *tls.Config {
	t.Helper()
	return &tls.Config{Certificates: []tls.Certificate{certificate(t)}}
}

// Client returns the settings of a client that trusts that certificate alone.
func Client(t testing.TB) *tls.Config {
	t.Helper()
	return &tls.Config{RootCAs: Roots(t), ServerName: Name}
}

// Roots has that certificate alone.
func Roots(t testing.TB) *x509.CertPool {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(certificate(t).Leaf)
	return roots
}

// Files writes that certificate and its key as PEM files.
func Files(t testing.TB) (cert, key string) {
	t.Helper()
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	write(t, certificate(t), cert, key)
	return cert, key
}

// WriteNew writes a new certificate with this serial number, and its key, to these PEM
// files. Client does not trust it.
func WriteNew(t testing.TB, cert, key string, serial int64) {
	t.Helper()
	pair, err := create(serial)
	if err != nil {
		t.Fatal(err)
	}
	write(t, pair, cert, key)
}

func certificate(t testing.TB) tls.Certificate {
	t.Helper()
	pair, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func write(t testing.TB, pair tls.Certificate, cert, key string) {
	t.Helper()
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]},
		key:  {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
