package web

import (
	"net/http/httptest"
	"testing"
)

func TestPagesThatMayPublish(t *testing.T) {
	for _, c := range []struct {
		host, origin, site string
		may                bool
	}{
		{"10.0.0.1:8080", "", "", true}, // an encoder
		{"10.0.0.1:8080", "http://10.0.0.1:8080", "", true},
		{"127.0.0.1:8080", "http://127.0.0.1:8080", "same-origin", true},
		{"[::1]:8080", "http://[::1]:8080", "same-origin", true},
		{"localhost:8080", "http://localhost:8080", "same-origin", true},
		{"studio.example", "https://studio.example", "same-origin", true}, // TLS, perhaps at a proxy
		{"rebound.example:8080", "http://rebound.example:8080", "", false},
		{"rebound.example:8080", "http://rebound.example:8080", "same-origin", false},
		{"10.0.0.1:8080", "http://other.example", "", false},
		{"10.0.0.1:8080", "http://10.0.0.1:8080", "cross-site", false},
		{"10.0.0.1:8080", "null", "", false},
		{"10.0.0.1:8080", "http://%zz", "", false},
	} {
		r := httptest.NewRequest("POST", "http://"+c.host+"/live/s.flv", nil)
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		if c.site != "" {
			r.Header.Set("Sec-Fetch-Site", c.site)
		}
		if got := mayPublish(r); got != c.may {
			t.Errorf("host %s, origin %q, site %q: %v", c.host, c.origin, c.site, got)
		}
	}
}
