package dialtls

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/sluicetest"
)

// A certificate of an unknown authority is refused with what helps; one that is known is taken.
func TestUnknownAuthorities(t *testing.T) {
	sluicetest.NoLeaks(t, nil)
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	known := &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	for name, c := range map[string]struct {
		config *tls.Config
		server string
		taken  bool
		says   string
	}{
		"unknown":               {nil, "example.com", false, help("linux")},
		"unknown, with options": {&tls.Config{MinVersion: tls.VersionTLS13}, "example.com", false, help("linux")},
		"known":                 {known, "example.com", true, ""},
		"known, another name":   {known, "other.invalid", false, "other.invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			encrypted, err := Client(t.Context(), conn, c.config, c.server)
			if c.taken {
				if err != nil {
					t.Fatal(err)
				}
				encrypted.Close()
				return
			}
			if err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(c.says, "add ")) {
				t.Fatalf("%v, which does not say %q", err, c.says)
			}
			var failed *tls.CertificateVerificationError
			if !errors.As(err, &failed) {
				t.Errorf("%v does not match what crypto/tls said", err)
			}
			if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
				t.Errorf("the connection is left open: %v", err)
			}
		})
	}
	if help("windows") == help("linux") || Explain(nil) != nil {
		t.Error("the help does not follow the system")
	}
	if err := Explain(x509.HostnameError{Certificate: &x509.Certificate{}, Host: "x"}); strings.Contains(err.Error(), "authority to") {
		t.Error(err)
	}
}
