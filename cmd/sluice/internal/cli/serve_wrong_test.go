package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/internal/testcert"
)

// What is wrong with a setting, and with what it names, is said in one line that has the
// setting, the value and what would fit, with the exit code for wrong settings. There is a
// case for every setting.
func TestServeSaysWhatIsWrongWithEverySetting(t *testing.T) {
	dir := t.TempDir()
	path := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	file, none := path("file", "junk"), filepath.Join(dir, "none")
	cert, key := testcert.Files(t)
	otherCert := filepath.Join(dir, "other.pem")
	testcert.WriteNew(t, otherCert, filepath.Join(dir, "other.key"), 2)
	tests := []struct {
		args string // those of the setting that is wrong come first
		says []string
	}{
		{"--rtmp 1935", []string{"1935", "127.0.0.1:8080"}},
		{"--rtmps :x", []string{":x", "65535"}},
		{"--http off --rtmp off --rtsp off --srt off", []string{"all listeners are off"}},
		{"--https :99999", []string{":99999", "65535"}},
		{"--rtsp ::1", []string{"::1"}},
		{"--rtsps 1", []string{"127.0.0.1:8080"}},
		{"--rtsp-udp :8001", []string{":8001", "even"}},
		{"--webrtc 8189", []string{"8189"}},
		{"--webrtc-address 192.0.2.1:1", []string{"192.0.2.1:1", "without a port"}},
		{"--ice-servers http://a", []string{"http://a", "stun:HOST"}},
		{"--srt x", []string{"x"}},
		{"--srt-latency 9s", []string{"9s", "20ms to 8s"}},
		{"--cert " + none + " --https :0 --key " + key, []string{none, "no such file"}},
		{"--cert " + dir + " --https :0 --key " + key, []string{dir, "directory"}},
		{"--cert " + file + " --rtmps :0 --key " + key, []string{file, "PEM"}},
		{"--cert " + otherCert + " --rtsps :0 --key " + key, []string{otherCert, key, "private key does not match"}},
		{"--cert= --https :0", []string{"certificate file"}},
		{"--key " + none + " --https :0 --cert " + cert, []string{none, "no such file"}},
		{"--trusted-proxies proxy", []string{"proxy", "10.0.0.0/8"}},
		{"--proxy-protocol srt", []string{"srt", "rtmp, rtmps, http, https, rtsp, rtsps"}},
		{"--proxy-protocol http", []string{"trusted-proxies"}},
		{"--merge 1s", []string{"1s", "0s to 350ms"}},
		{"--merge-adapt=maybe", []string{"maybe", "true nor false"}},
		{"--gop=maybe", []string{"maybe", "true nor false"}},
		{"--gop-bytes 1", []string{"1", "64KiB to 1GiB"}},
		{"--gop-frames 1", []string{"1", "16 to"}},
		{"--gop-time 1h", []string{"1h", "100ms to 10m0s"}},
		{"--max-frame 1KiB", []string{"1KiB", "64KiB to 16777215"}},
		{"--grace 1h", []string{"1h", "10m0s"}},
		{"--takeover ask", []string{"ask", "refuse, replace, standby"}},
		{"--takeover-after 1ns", []string{"1ns", "100ms to 10m0s"}},
		{"--hls yes", []string{"yes", "low-latency, plain, off"}},
		{"--hls-segment 1ms", []string{"1ms", "500ms to 10s"}},
		{"--hls-part 1ms", []string{"1ms", "100ms to 5s"}},
		{"--hls-segments 1", []string{"3 to 100"}},
		{"--hls-bytes 1", []string{"1MiB to"}},
		{"--hls-group live/a", []string{"live/a", "APP/*"}},
		{"--protect all", []string{"all", "publish, play"}},
		{"--protect publish", []string{"SLUICE_TOKEN_SECRET"}},
		{"--revoked-tokens a.b", []string{"a.b", "1 to 32"}},
		{"--bans-file " + file, []string{file, "after 0 bytes"}},
		{"--bans-file " + dir, []string{dir, "directory"}},
		{"--bans-file " + filepath.Join(none, "bans"), []string{none, "no such file"}},
		{"--hook ftp://a", []string{"ftp://a", "http://"}},
		{"--allow-publish all", []string{"all", "10.0.0.0/8"}},
		{"--allow-play 10.0.0.0/33", []string{"10.0.0.0/33"}},
		{"--cors example.com", []string{"example.com", "https://example.com"}},
		{"--max-memory 1MiB", []string{"1MiB", "16MiB"}},
		{"--max-streams -1", []string{"-1", "0 to"}},
		{"--max-streams-per-address -1", []string{"-1", "0 to"}},
		{"--publish-timeout 1s", []string{"1s", "2s to 1h0m0s"}},
		{"--min-publish-rate 2MiB", []string{"2MiB", "1MiB"}},
		{"--max-handshakes 0", []string{"0", "1 to"}},
		{"--max-handshakes-per-address 0", []string{"0", "1 to"}},
		{"--max-viewers -1", []string{"-1", "0 to"}},
		{"--max-viewers-per-address -1", []string{"-1", "0 to"}},
		{"--max-viewers-per-stream -1", []string{"-1", "0 to"}},
		{"--record " + file, []string{file, "not a directory"}},
		{"--record-all=maybe", []string{"maybe", "true nor false"}},
		{"--record-format avi", []string{"avi", "flv, mp4"}},
		{"--record-segment 1ms", []string{"1ms", "1s to 24h0m0s"}},
		{"--record-keep 1s", []string{"1s", "1m0s to"}},
		{"--record-size 10MB", []string{"10MB", "16MiB"}},
		{"--rewind 1ms", []string{"1ms", "1s to"}},
		{"--origin origin", []string{"origin", "rtmp://"}},
		{"--origin-retry 0s", []string{"0s", "1s to"}},
		{"--source live/x", []string{"live/x", "APP/NAME=rtsp://"}},
		{"--source live/x=rtsp://h:99999/x", []string{"live/x", "1 to 65535"}},
		{"--source live/x=srt://h:1?passphrase=hunter2", []string{"live/x", "10 to 79"}},
		{"--source live/x=rtsp://h/x --source live/x=rtsp://h/y", []string{"a second source of live/x"}},
		{"--push live/*", []string{"live/*", "rtmp://"}},
		{"--push live/*=rtmp://h/hunter2", []string{"live/*", "application and name"}},
		{"--push live/*=rtmp://h:99999/a/hunter2", []string{"live/*", "1 to 65535"}},
		{"--push live/*=rtmp://h/a/${NO_SUCH_NAME}", []string{"live/*", "${NO_SUCH_NAME}"}},
		{"--push live/*=srt://h:1?passphrase=hunter2", []string{"live/*", "10 to 79"}},
		{"--push **=rtmp://h/a/hunter2", []string{"**", "one *"}},
		{`--on-publish "x`, []string{"quote"}},
		{"--max-commands 0", []string{"0", "1 to"}},
		{"--cluster", []string{"SLUICE_CLUSTER_SECRET"}},
		{"--node-name a.b", []string{"a.b", "letters, digits"}},
		{"--join a", []string{"a", "HOST:PORT"}},
		{"--nats a", []string{"a", "nats://"}},
		{"--cluster-address a", []string{"a", "127.0.0.1:8080"}},
		{"--advertise a", []string{"a", "http://"}},
		{"--play-url a", []string{"a", "http://"}},
		{"--place-viewers -1", []string{"-1", "0 to"}},
		{"--place-bandwidth 1MB", []string{"1MB", "16MiB"}},
		{"--place-processor 101", []string{"101", "0 to 100"}},
		{"--cluster-drain 1h", []string{"1h", "10m0s"}},
		{"--event-hook a", []string{"a", "http://"}},
		{"--event-spool " + file + " --event-hook http://127.0.0.1:9", []string{file, "not a directory"}},
		{"--event-spool-size 1", []string{"1", "1MiB"}},
		{"--pprof :1", []string{":1", "loopback"}},
		{"--log-level loud", []string{"loud", "debug, info, warn, error"}},
		{"--log-format xml", []string{"xml", "text, json"}},
		{"--upgrade-socket off --upgrade", []string{"set upgrade-socket"}},
	}
	c := config.Default()
	for _, s := range c.Settings() {
		if !slices.ContainsFunc(tests, func(c struct {
			args string
			says []string
		}) bool {
			name, _, _ := strings.Cut(strings.Fields(c.args)[0], "=")
			return name == "--"+s.Name
		}) {
			t.Errorf("no case for --%s", s.Name)
		}
	}
	base := strings.Fields("serve --rtmp 127.0.0.1:0 --http 127.0.0.1:0 --rtsp off --webrtc off --srt off")
	for _, c := range tests {
		args := strings.Fields(c.args)
		setting, _, _ := strings.Cut(args[0][2:], "=")
		p, exit := run(t, append(slices.Clone(base), args...)...)
		stderr := p.stderr.String()
		if exit != ExitUsage || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "sluice: ") || p.stdout.Len() > 0 {
			t.Errorf("%s: exit code %d: %s%s", c.args, exit, p.stdout.String(), stderr)
		}
		for _, says := range append(c.says, setting) {
			if !strings.Contains(stderr, says) {
				t.Errorf("%s: %q does not say %q", c.args, stderr, says)
			}
		}
		if twice := "--" + setting + ": " + setting + ":"; strings.Contains(stderr, twice) {
			t.Errorf("%s: %q says its name twice", c.args, stderr)
		}
		if strings.Contains(stderr, "hunter2") {
			t.Errorf("%s: %q shows a secret", c.args, stderr)
		}
	}
}
