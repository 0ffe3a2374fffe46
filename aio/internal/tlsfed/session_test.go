package tlsfed_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sluice-go/sluice/sluicetest"
)

var versions = []uint16{tls.VersionTLS12, tls.VersionTLS13}

// echo sends messages of the given sizes, each after the answer to the one before, and
// compares.
func echo(t *testing.T, conn io.ReadWriter, sizes ...int) {
	t.Helper()
	seed := sluicetest.Seed(t)
	dice := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	for _, n := range sizes {
		said, heard := make([]byte, n), make([]byte, n)
		dice.Read(said)
		wrote := make(chan error, 1)
		go func() {
			_, err := conn.Write(said)
			wrote <- err
		}()
		if _, err := io.ReadFull(conn, heard); err != nil {
			t.Fatalf("the answer to %d bytes: %v", n, err)
		}
		if err := <-wrote; err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(said, heard) {
			t.Fatalf("the answer to %d bytes is another", n)
		}
	}
}

func TestEchoInEveryChunking(t *testing.T) {
	for _, version := range versions {
		for _, chunk := range []int{1, 3, 7, 1000, 64 << 10} {
			t.Run(fmt.Sprintf("%s/%d", tls.VersionName(version), chunk), func(t *testing.T) {
				server, clientConfig := configs(t, version)
				raw, ended, s := serve(t, server, chunk)
				client := tls.Client(raw, clientConfig)
				sizes := []int{1, 0, 128, 1024, 1025, 17000}
				if chunk > 7 {
					sizes = append(sizes, 300_000)
				}
				echo(t, client, sizes...)
				if err := client.Close(); err != nil {
					t.Error(err)
				}
				if err := result(t, ended); err != io.EOF {
					t.Errorf("after close_notify the server ends with %v", err)
				}
				if s.opened.Version != version {
					t.Errorf("version %s", tls.VersionName(s.opened.Version))
				}
			})
		}
	}
}

func TestClientCertificate(t *testing.T) {
	for _, version := range versions {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			server, clientConfig := configs(t, version)
			server.ClientAuth = tls.RequireAnyClientCert
			clientConfig.Certificates = server.Certificates
			raw, ended, s := serve(t, server, 11)
			client := tls.Client(raw, clientConfig)
			echo(t, client, 5000)
			client.Close()
			if err := result(t, ended); err != io.EOF {
				t.Error(err)
			}
			if len(s.opened.PeerCertificates) != 1 {
				t.Errorf("%d certificates of the client", len(s.opened.PeerCertificates))
			}

			clientConfig.Certificates = nil
			raw, ended, _ = serve(t, server, 11)
			client = tls.Client(raw, clientConfig)
			err := client.Handshake()
			if err == nil {
				_, err = client.Read(make([]byte, 1)) // TLS 1.3: the client is done first
			}
			var alert tls.AlertError
			if !errors.As(err, &alert) && err == nil {
				t.Error("a client without a certificate is served")
			}
			if err := result(t, ended); err == nil || err == io.EOF {
				t.Errorf("without a certificate: %v", err)
			}
		})
	}
}

// A client's certificates may come faster than crypto/tls reads them, and be more than is kept.
func TestLongCertificatesOfAClient(t *testing.T) {
	for _, version := range versions {
		server, clientConfig := configs(t, version)
		server.ClientAuth = tls.RequireAnyClientCert
		long := tls.Certificate{PrivateKey: server.Certificates[0].PrivateKey}
		for size := 0; size < 200<<10; size += len(server.Certificates[0].Certificate[0]) {
			long.Certificate = append(long.Certificate, server.Certificates[0].Certificate[0])
		}
		clientConfig.Certificates = []tls.Certificate{long}
		for range 10 {
			raw, ended, s := serve(t, server, 1<<20)
			client := tls.Client(raw, clientConfig)
			echo(t, client, 5000)
			client.Close()
			if err := result(t, ended); err != io.EOF {
				t.Error(err)
			}
			if got := len(s.opened.PeerCertificates); got != len(long.Certificate) {
				t.Errorf("%d certificates of the client", got)
			}
		}
	}
}

func TestResumptionProtocolAndName(t *testing.T) {
	for _, version := range versions {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			server, clientConfig := configs(t, version)
			server.NextProtos = []string{"a", "b"}
			clientConfig.NextProtos = []string{"b"}
			clientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(1)
			asked := ""
			config := &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
				asked = hello.ServerName
				return server, nil
			}}
			for i := range 2 {
				raw, ended, s := serve(t, config, 100)
				client := tls.Client(raw, clientConfig)
				echo(t, client, 10)
				client.Close()
				if err := result(t, ended); err != io.EOF {
					t.Error(err)
				}
				if s.opened.NegotiatedProtocol != "b" || asked != "peer" {
					t.Errorf("protocol %q, name %q", s.opened.NegotiatedProtocol, asked)
				}
				if s.opened.DidResume != (i == 1) {
					t.Errorf("connection %d: resumed is %v", i, s.opened.DidResume)
				}
			}
		})
	}
}

// A client that has ended its direction still gets the answers.
func TestHalfClose(t *testing.T) {
	for _, version := range versions {
		server, clientConfig := configs(t, version)
		raw, ended, _ := serve(t, server, 64<<10)
		client := tls.Client(raw, clientConfig)
		said := bytes.Repeat([]byte("half"), 20_000)
		wrote := make(chan error, 1)
		go func() {
			_, err := client.Write(said)
			wrote <- errors.Join(err, client.CloseWrite())
		}()
		heard, err := io.ReadAll(client)
		if err != nil || !bytes.Equal(heard, said) {
			t.Errorf("%s: %d bytes of %d, %v", tls.VersionName(version), len(heard), len(said), err)
		}
		if err := <-wrote; err != nil {
			t.Error(err)
		}
		if err := result(t, ended); err != io.EOF {
			t.Error(err)
		}
	}
}

// Bytes that follow the client's last handshake message at once belong to the program.
func TestBytesRightBehindTheHandshake(t *testing.T) {
	server, clientConfig := configs(t, tls.VersionTLS13)
	for range 20 {
		raw, ended, s := serve(t, server, 64<<10)
		client := tls.Client(raw, clientConfig)
		said := bytes.Repeat([]byte("early"), 40_000)
		go func() {
			client.Write(said)
			client.CloseWrite()
		}()
		heard, err := io.ReadAll(client)
		if err != nil || !slices.Equal(heard, said) {
			t.Fatalf("%d bytes of %d, %v", len(heard), len(said), err)
		}
		if err := result(t, ended); err != io.EOF || s.read != len(said) {
			t.Errorf("%v after %d bytes", err, s.read)
		}
	}
}
