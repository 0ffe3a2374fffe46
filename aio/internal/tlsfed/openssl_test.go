package tlsfed_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// openssl runs s_client, which takes commands at the beginning of what it reads at
// once: K changes the keys and asks for others, R wants another handshake.
func openssl(t *testing.T, version string, steps func(say func(string), hear func(string) bool)) (s *server, ended error) {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Fatal("no openssl in PATH: scripts/ensure-tools.sh installs what the tests need")
	}
	v := uint16(tls.VersionTLS13)
	if version == "-tls1_2" {
		v = tls.VersionTLS12
	}
	config, _ := configs(t, v)
	raw, end, s := serve(t, config, 64<<10)
	// s_client dials itself: what it sends goes through the connection that is served.
	address, stop := relay(t, raw)
	defer stop()
	ctx, cancel := context.WithTimeout(t.Context(), atMost)
	defer cancel()
	client := exec.CommandContext(ctx, "openssl", "s_client", "-connect", address, version, "-servername", "peer")
	in, err := client.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := client.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	client.Stderr = client.Stdout // with what it says of the commands
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	steps(func(line string) {
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			t.Error(err)
		}
	}, func(want string) bool {
		for lines.Scan() {
			if strings.TrimSpace(lines.Text()) == want {
				return true
			}
		}
		return false
	})
	in.Close()
	_ = client.Wait()
	return s, result(t, end)
}

func TestKeyUpdate(t *testing.T) {
	_, err := openssl(t, "-tls1_3", func(say func(string), hear func(string) bool) {
		for _, line := range []string{"one", "two", "three"} {
			say(line)
			if !hear(line) {
				t.Fatalf("no answer to %q", line)
			}
			say("K")
			if !hear("KEYUPDATE") {
				t.Fatal("openssl does not change its keys")
			}
		}
		say("four")
		if !hear("four") {
			t.Fatal("no answer with the last keys")
		}
	})
	if err != io.EOF {
		t.Errorf("the server ends with %v", err)
	}
}

func TestRenegotiationIsRefused(t *testing.T) {
	s, err := openssl(t, "-tls1_2", func(say func(string), hear func(string) bool) {
		say("one")
		if !hear("one") {
			t.Fatal("no answer")
		}
		say("R")
		if hear("never") {
			t.Error("an answer that was not given")
		}
	})
	if err == nil || err == io.EOF || s.read != len("one\n") {
		t.Errorf("the server ends with %v after %d bytes", err, s.read)
	}
}
