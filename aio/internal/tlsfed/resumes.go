package tlsfed

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"sync"
	"time"
)

// Resumes tries out, once, whether reads of this program's crypto/tls go on after
// ErrNoBytes. The error says what it does instead.
var Resumes = sync.OnceValue(func() error {
	return resumes(&tls.Config{GetCertificate: selfSigned}, ErrNoBytes)
})

// selfSigned returns a new certificate that is good for trying out.
func selfSigned(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// resumes has a session read one record in two parts, with none in between.
func resumes(config *tls.Config, none error) error {
	near, far := net.Pipe()
	defer near.Close()
	limit := time.Now().Add(10 * time.Second)
	if err := errors.Join(near.SetDeadline(limit), far.SetDeadline(limit)); err != nil {
		return err
	}
	halted := &halting{Conn: near, none: none}
	server := tls.Server(halted, config)
	said := make(chan error, 1)
	go func() {
		defer far.Close()
		client := tls.Client(far, &tls.Config{InsecureSkipVerify: true})
		_, err := client.Write([]byte("x"))
		said <- err
	}()
	err := server.Handshake()
	if err == nil {
		halted.on = true
		var p [1]byte
		for range 3 * headerLen {
			if _, err = server.Read(p[:]); err != none {
				break
			}
		}
	}
	near.Close()
	if clientErr := <-said; err == nil {
		err = clientErr
	}
	if err != nil {
		return fmt.Errorf("aio: crypto/tls does not read on after a temporary error: %w", err)
	}
	return nil
}

// halting gives nothing at every other read, once it is on.
type halting struct {
	net.Conn
	none     error
	on, gave bool
}

func (h *halting) Read(p []byte) (int, error) {
	if h.on {
		if h.gave = !h.gave; !h.gave {
			return 0, h.none
		}
		p = p[:min(len(p), headerLen)]
	}
	return h.Conn.Read(p)
}
