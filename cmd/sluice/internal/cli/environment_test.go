package cli

import (
	"strings"
	"syscall"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
)

// A variable that is misspelt is said, with the one that was meant; those that something
// reads, and those of services in Kubernetes, are not.
func TestStrayVariables(t *testing.T) {
	for variable, near := range map[string]string{
		"SLUICE_MAX_MEMROY=1GiB":      "SLUICE_MAX_MEMORY",
		"SLUICE_MAXMEMORY=1GiB":       "SLUICE_MAX_MEMORY",
		"SLUICE_GOPTIME=":             "SLUICE_GOP_TIME",
		"SLUICE_API_TOKE=x":           "SLUICE_API_TOKEN",
		"SLUICE_TOKEN_SECRET_ACEPT=x": "SLUICE_TOKEN_SECRET_ACCEPT",
		"SLUICE_CONFG=x":              "SLUICE_CONFIG",
		"SLUICE_RTPM=:1935":           "SLUICE_RTMP",
		"SLUICE_PORT=8080":            "",
		"SLUICE_ELSEWHERE=x":          "",
		"SLUICE_=x":                   "",
	} {
		c := config.Default()
		got := strayVariables(&c, []string{"PATH=/bin", variable, "SLUICE"})
		name, _, _ := strings.Cut(variable, "=")
		if len(got) != 1 || got[0].name != name || got[0].near != near {
			t.Errorf("%s: %v, want %q", variable, got, near)
		}
	}
	c := config.Default()
	for _, s := range c.Settings() {
		if s.Name == "push" {
			if err := s.Set("live/*=rtmp://other/live/${SLUICE_MY_KEY}"); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, s := range append(c.Settings(), c.Secrets()...) {
		if got := strayVariables(&c, []string{s.Env() + "=x"}); len(got) > 0 {
			t.Errorf("%v", got)
		}
	}
	if got := strayVariables(&c, []string{
		"SLUICE_CONFIG=x", "SLUICE_UPGRADE_FD=3", "SLUICE_STREAM=live/s", "SLUICE_URL=http://h/live/s.flv", "SLUICE_MY_KEY=x", "SLUICES=x", "sluice_http=x", "SLUICE_TEST_CLOCK=1s",
		"SLUICE_SERVICE_HOST=10.0.0.1", "SLUICE_SERVICE_PORT_RTMP=1935", "SLUICE_PORT=tcp://10.0.0.1:1935", "SLUICE_PORT_1935_TCP=tcp://10.0.0.1:1935",
		"SLUICE_PORT_1935_TCP_PROTO=tcp", "SLUICE_PORT_8890_UDP_ADDR=10.0.0.1", "SLUICE_EDGE_PORT=tcp://10.0.0.1:1935",
	}); len(got) > 0 {
		t.Errorf("%v", got)
	}
}

func TestConfigCheckSaysStrayVariables(t *testing.T) {
	t.Setenv("SLUICE_MAX_MEMROY", "1GiB")
	const want = "warning: $SLUICE_MAX_MEMROY: no setting has this environment variable: it is ignored; there is SLUICE_MAX_MEMORY\n"
	for text, code := range map[string]int{"merge: 40ms\n": ExitOK, "merge: soon\n": ExitFailure} {
		if got, out, said := called(t, "config", "check", written(t, text)); got != code || out != "" || !strings.Contains(said, want) {
			t.Errorf("%q: %d %q %q", text, got, out, said)
		}
	}
}

func TestServeSaysStrayVariables(t *testing.T) {
	p := newProgram(t, "serve", "--record", "/dev/null/recordings") // which ends it
	p.Env = append(p.Env, "SLUICE_MAX_MEMROY=1GiB")
	if got := code(t, p.Run()); got == ExitOK || !strings.Contains(p.stderr.String(), "variable=SLUICE_MAX_MEMROY near=SLUICE_MAX_MEMORY") {
		t.Errorf("%d %s", got, &p.stderr)
	}
	p.clean(t)
}

// A flag that there is not is said with the one that may be meant.
func TestUnknownFlagsSayWhatMayBeMeant(t *testing.T) {
	for args, says := range map[string]string{
		"serve --max-viewer 5":    "sluice: unknown flag: --max-viewer; there is --max-viewers\n",
		"config show --htp=:80":   "sluice: unknown flag: --htp; there is --http\n",
		"token --expire 1h live":  "sluice: unknown flag: --expire; there is --expires\n",
		"serve --api-token x":     "sluice: unknown flag: --api-token: it is secret, and comes from the environment only, as SLUICE_API_TOKEN\n",
		"serve --elsewhere":       "sluice: unknown flag: --elsewhere\n",
		"serve -p 80":             "sluice: unknown shorthand flag: 'p' in -p\n",
		"version --token-secret=": "sluice: unknown flag: --token-secret\n",
	} {
		if code, out, text := called(t, strings.Fields(args)...); code != ExitUsage || out != "" || text != says {
			t.Errorf("%s: %d %q %q", args, code, out, text)
		}
	}
}

// What lacks a certificate is found in its file, and a file that may not be made is no question of ports.
func TestMessagesLeadToTheSetting(t *testing.T) {
	for _, setting := range []string{"rtmps", "https", "rtsps"} {
		file := written(t, "merge: 40ms\n"+setting+": \":1\"\n")
		if _, _, text := called(t, "config", "check", file); !strings.HasPrefix(text, file+":2:1: cert: ") {
			t.Errorf("%s: %q", setting, text)
		}
	}
	for address, port := range map[string]bool{":80": true, "127.0.0.1:1023": true, "127.0.0.1:1024": false, "/run/a:80/s": false, "/run/s": false} {
		text := listenHint(&relay.ListenError{Setting: "http", Address: address, Err: syscall.EACCES}).Error()
		if strings.Contains(text, "above 1023") != port || !strings.Contains(text, "--http") {
			t.Errorf("%s: %q", address, text)
		}
	}
}
