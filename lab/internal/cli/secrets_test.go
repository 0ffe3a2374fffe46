package cli

import (
	"encoding/base64"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// alwaysOK answers whatever a client of Redis sends, one request at a time.
func alwaysOK(t *testing.T, reply string) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for b := make([]byte, 4096); ; {
					if _, err := conn.Read(b); err != nil {
						return
					}
					if _, err := conn.Write([]byte(reply)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// What load, matrix and diagnose print and write is shared.
func TestResultsHoldNoSecrets(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, password, _ := r.BasicAuth(); name != "me" || password != "s3cret,1" && r.Header.Get("X-Api-Key") == "" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer s.Close()
	web := strings.TrimPrefix(s.URL, "http://")
	redis, refusing := alwaysOK(t, "+OK\r\n"), alwaysOK(t, "-WRONGPASS\r\n")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("password=s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	brief := append(append([]string{}, shortly...), "--duration", "300ms")
	for name, args := range map[string][]string{
		"http userinfo":       {"load", "--json", "r.json", "http://me:s3cret,1@" + web + "/a@b"},
		"headers":             {"load", "--json", "r.json", "--header", "Authorization: Basic bWU6czNjcmV0LDE=", "--header=X-Api-Key: s3cret", "--header", "Accept: text/plain", s.URL},
		"body":                {"load", "--json", "r.json", "--body", secret, "http://me:s3cret,1@" + web},
		"own":                 {"load", "--json", "r.json", "--request", secret, "--reply", "delimiter:\n", redis},
		"redis":               {"load", "--json", "r.json", "--command", "HELLO 3 AUTH me s3cret", "redis://:s3cret@" + redis},
		"refused":             {"load", "--json", "r.json", "redis://me:s3cret@" + refusing},
		"several":             {"load", "--json", "r.json", "redis://:s3cret@" + redis + ",redis://:s3cret2@" + redis},
		"several that differ": {"load", "--json", "r.json", "redis://:s3cret@" + redis + "/1,redis://:s3cret@" + redis + "/2"},
		"no port":             {"load", "--json", "r.json", "tcp://me:s3cret@" + web},
		"compare":             {"load", "--json", "r.json", "--compare", "redis://:s3cret@" + redis, "redis://:s3cret@" + redis},
		"search":              {"load", "--json", "r.json", "--search", "P50=10s", "--rate", "10", "redis://:s3cret@" + redis},
		"matrix":              {"matrix", "rate-network", "--json", "r.json", "--rows", "100", "--columns", "0", "--layers", "0", "--rounds", "1", "--cell", "200ms", "--header", "Authorization: s3cret", "--target", "http://me:s3cret@" + web},
		"diagnose":            {"diagnose", "--json", "r.json", "--url", "http://me:s3cret@" + web},
	} {
		if args[0] == "load" {
			args = append(append([]string{"load"}, brief...), args[1:]...)
		}
		p, exit := run(t, args...)
		all := p.stdout.String() + p.stderr.String()
		if file, err := os.ReadFile(filepath.Join(p.dir, "r.json")); err == nil {
			all += string(file)
			page, exit := run(t, "report", "-o", "page.html", filepath.Join(p.dir, "r.json"))
			html, err := os.ReadFile(filepath.Join(page.dir, "page.html"))
			if err != nil {
				t.Fatalf("%s: report: exit code %d, %v: %s", name, exit, err, page.stderr.String())
			}
			all += string(html)
		}
		for _, secret := range []string{"s3cret", "bWU6", base64.StdEncoding.EncodeToString([]byte("password=s3cret\n"))} {
			if at := strings.Index(all, secret); at >= 0 {
				t.Errorf("%s: exit code %d, a secret is in %q", name, exit, all[max(0, at-100):min(len(all), at+100)])
			}
		}
		t.Logf("%s: exit code %d, %.300s", name, exit, all)
	}
}
