package transport

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"
)

// errPeer: the other side of a route has another secret.
var errPeer = errors.New("transport: the other node has another secret")

// routeTLS is for connections between nodes. All have the same key, which is
// derived from the secret, and each side accepts nothing else of the other than that, or
// what is derived from the other secret that it accepts: names and dates in the
// certificates do not count. refuse is called when it does not.
func routeTLS(o *Options, refuse func(error)) (*tls.Config, error) {
	var accepted []ed25519.PublicKey
	var private ed25519.PrivateKey
	for _, seed := range slices.Backward(o.keys("routes")) {
		private = ed25519.NewKeyFromSeed(seed) // the last of them is this node's own
		accepted = append(accepted, private.Public().(ed25519.PublicKey))
	}
	public := private.Public()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "sluice cluster"},
		DNSNames:     []string{"sluice-cluster"},
		NotBefore:    time.Unix(0, 0),
		NotAfter:     time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // RFC 5280: no end
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		return nil, fmt.Errorf("transport: %w", err)
	}
	return &tls.Config{
		Certificates:       []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}},
		MinVersion:         tls.VersionTLS13,
		ClientAuth:         tls.RequireAnyClientCert,
		InsecureSkipVerify: true, // VerifyConnection does it
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) > 0 {
				theirs, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
				if ok && slices.ContainsFunc(accepted, func(key ed25519.PublicKey) bool { return key.Equal(theirs) }) {
					return nil
				}
			}
			refuse(errPeer)
			return errPeer
		},
	}, nil
}
