package aio_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"sync"
	"time"
)

var errWrongBytes = errors.New("other bytes than were sent")

// certificate is one for tests, made once in a process.
var certificate = sync.OnceValues(func() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"peer"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
})

// tlsPair is a connection that has no descriptor of its own: what is on the
// socket is not what the program reads.
func tlsPair(f *fixture, sockets func() (near, far net.Conn)) (near, far net.Conn) {
	f.Helper()
	cert, err := certificate()
	if err != nil {
		f.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		f.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	a, b := sockets()
	server := tls.Server(a, &tls.Config{Certificates: []tls.Certificate{cert}})
	client := tls.Client(b, &tls.Config{RootCAs: roots, ServerName: "peer"})
	if err := b.SetDeadline(time.Now().Add(patience)); err != nil {
		f.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Handshake() }()
	if err := errors.Join(client.Handshake(), <-failed); err != nil {
		f.Fatal(err)
	}
	return server, client
}
