package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
)

// What sluice cluster status prints, and its exit codes.
func TestClusterStatus(t *testing.T) {
	answer := `{"node":"a","connected":true,"links":1,"nodes":[{"name":"a","url":"http://a:8080","self":true,"viewers":3,"load":0.25,"streams":1}],` +
		`"streams":[{"s":"live/s","e":1,"p":"10.0.0.9:1","node":"a","winner":true},{"s":"live/s","e":1,"l":1,"f":"a","node":"b"}],"problems":[PROBLEMS]}`
	problems := ""
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/api/cluster":
			http.NotFound(w, r)
		case r.Header.Get("Authorization") != "Bearer the token of the API":
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, `{"error":"the API token is missing"}`)
		default:
			io.WriteString(w, strings.Replace(answer, "PROBLEMS", problems, 1))
		}
	}))
	defer node.Close()
	address := strings.TrimPrefix(node.URL, "http://")
	if code, _, said := called(t, "cluster", "status", "--url", node.URL); code != ExitFailure || !strings.Contains(said, "the API token is missing") {
		t.Errorf("without the token: %d, %s", code, said)
	}
	t.Setenv(config.EnvAPIToken, "the token of the API")
	for _, url := range []string{node.URL, node.URL + "/", address} {
		code, out, said := called(t, "cluster", "status", "--url", url)
		if code != ExitOK || !strings.Contains(out, "25 %") || !strings.Contains(out, "publisher 10.0.0.9:1") || !strings.Contains(out, "node a") {
			t.Errorf("%s: %d, %s%s", url, code, out, said)
		}
	}
	problems = `"something"`
	if code, out, _ := called(t, "cluster", "status", "--url", address); code != ExitFailure || !strings.Contains(out, "wrong: something") {
		t.Errorf("with a problem: %d, %s", code, out)
	}
	code, out, _ := called(t, "cluster", "status", "--json", "--url", address)
	if code != ExitFailure || !json.Valid([]byte(out)) || !strings.Contains(out, `"something"`) {
		t.Errorf("--json with a problem: %d, %s", code, out)
	}
	node.Close()
	if code, _, said := called(t, "cluster", "status", "--url", address); code != ExitFailure || !strings.Contains(said, "refused") {
		t.Errorf("a node that is away: %d, %s", code, said)
	}
	for _, wrong := range []string{"", "http://", "ftp://a:21", "http://a:x", "a b"} {
		if code, _, said := called(t, "cluster", "status", "--url", wrong); code != ExitUsage || !strings.Contains(said, "--url") {
			t.Errorf("%q: %d, %s", wrong, code, said)
		}
	}
}
