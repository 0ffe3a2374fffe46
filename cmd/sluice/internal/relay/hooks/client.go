package hooks

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/dialtls"
)

// checkURL returns an error for what is not the URL of a hook.
func checkURL(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("hooks: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return fmt.Errorf("hooks: %s is no URL such as http://127.0.0.1:9000/hook", u.Redacted())
	}
	return nil
}

// newClient is a client for one server, with this many connections that are kept.
func newClient(timeout time.Duration, idle int) *http.Client {
	return &http.Client{
		// A redirect would send data about the peer to a server that the
		// configuration does not name.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:            (&net.Dialer{Timeout: timeout}).DialContext,
			MaxIdleConnsPerHost:    idle,
			IdleConnTimeout:        30 * time.Second,
			MaxResponseHeaderBytes: 16 << 10,
			DisableCompression:     true,
		},
	}
}

// withoutURL removes the hook's URL, which may contain a password, and says what helps against an
// unknown authority.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return dialtls.Explain(err)
}
