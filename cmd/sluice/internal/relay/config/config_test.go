package config

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// configKeys has for every setting a value that is not the default, as a flag
// and as YAML have it, and values that are refused with what the error says.
var configKeys = []struct {
	name string
	yaml string
	text string // what String says then
	bad  map[string]string
}{
	{"rtmp", `"127.0.0.1:1936"`, "127.0.0.1:1936", map[string]string{"1935": "not an address", "localhost": "not an address", `":http"`: "port", `":99999"`: "65535", `"::1"`: "not an address"}},
	{"rtmps", `":443"`, ":443", map[string]string{`":x"`: "port"}},
	{"http", `"[::1]:80"`, "[::1]:80", map[string]string{"true": "not an address"}},
	{"https", `off`, "off", map[string]string{"on": "not an address"}},
	{"rtsp", `"127.0.0.1:18554"`, "127.0.0.1:18554", map[string]string{"8554": "not an address"}},
	{"rtsps", "127.0.0.1:18555", "127.0.0.1:18555", map[string]string{"8555": "not an address"}},
	{"rtsp-udp", "127.0.0.1:18000", "127.0.0.1:18000", map[string]string{"8000": "not an address"}},
	{"webrtc", "127.0.0.1:18189", "127.0.0.1:18189", map[string]string{"8189": "not an address"}},
	{"webrtc-address", "[192.0.2.1, relay.example.com]", "192.0.2.1,relay.example.com", map[string]string{"192.0.2.1:8189": "without a port", "http://a": "without a port"}},
	{"ice-servers", "[stun:stun.example.com, turn:turn.example.com?transport=tcp]", "stun:stun.example.com,turn:turn.example.com?transport=tcp", map[string]string{"http://a": "stun:HOST", "turn:user@host": "without user"}},
	{"srt", "127.0.0.1:18890", "127.0.0.1:18890", map[string]string{"8890": "not an address"}},
	{"srt-latency", "1s", "1s", map[string]string{"10s": "8s", "1ms": "20ms"}},
	{"cert", "a.pem", "a.pem", nil},
	{"key", "b.pem", "b.pem", nil},
	{"trusted-proxies", "[127.0.0.1, 10.0.0.0/8]", "127.0.0.1,10.0.0.0/8", map[string]string{"proxy.example": "proxy.example"}},
	{"proxy-protocol", "[rtmp, https]", "rtmp,https", map[string]string{"ftp": "rtmp, rtmps, http, https, rtsp, rtsps"}},
	{"merge", "0s", "0s", map[string]string{"80": "unit", "351ms": "350ms", "-1ms": "0s", "fast": "unit"}},
	{"merge-adapt", "false", "false", map[string]string{"perhaps": "true nor false"}},
	{"gop", "false", "false", map[string]string{"maybe": "neither true nor false", "2": "neither"}},
	{"gop-bytes", "1MiB", "1MiB", map[string]string{"65535": "65535 is not within 64KiB to 1GiB", "2GiB": "2GiB is not within 64KiB to 1GiB", "9999999999GiB": "9999999999GiB is not within 64KiB to 1GiB", "99999999999999999999": "99999999999999999999 is not within 64KiB", "1.5MiB": "not a size", "-1": "not a size", "10MB": "not a size"}},
	{"gop-frames", "100", "100", map[string]string{"15": "16", "1048577": "1048576", "many": "whole number", "1.5": "whole number", "99999999999999999999": "99999999999999999999 is not within 16 to 1048576", "-99999999999999999999": "-99999999999999999999 is not within 16"}},
	{"gop-time", "10s", "10s", map[string]string{"99ms": "100ms", "11m": "10m0s"}},
	{"max-frame", "4MiB", "4MiB", map[string]string{"16MiB": "16777215", "1KiB": "64KiB"}},
	{"grace", "1m0s", "1m0s", map[string]string{"-1s": "0s", "1h": "10m0s"}},
	{"takeover", "replace", "replace", map[string]string{"allow": "refuse, replace, standby"}},
	{"takeover-after", "5s", "5s", map[string]string{"-1s": "not 0", "1ns": "100ms", "1h": "10m0s"}},
	{"hls", "plain", "plain", map[string]string{"fast": "low-latency, plain, off"}},
	{"hls-segment", "2s", "2s", map[string]string{"100ms": "500ms", "1m": "10s"}},
	{"hls-part", "200ms", "200ms", map[string]string{"10ms": "100ms", "6s": "5s"}},
	{"hls-segments", "10", "10", map[string]string{"2": "3", "101": "100"}},
	{"hls-bytes", "8MiB", "8MiB", map[string]string{"1KiB": "1MiB"}},
	{"hls-group", "[live/*_720, live/*_360]", "live/*_720,live/*_360", map[string]string{"live/a": "APP/*", "live/*_*": "APP/*"}},
	{"protect", "[publish, play]", "publish,play", map[string]string{"everything": "publish, play", "[publish, watch]": "watch"}},
	{"revoked-tokens", "[cam7, x_-9]", "cam7,x_-9", map[string]string{"a.b": "id of a token"}},
	{"bans-file", "/var/lib/sluice/bans.json", "/var/lib/sluice/bans.json", nil},
	{"hook", "http://127.0.0.1:9/h", "http://127.0.0.1:9/h", map[string]string{"127.0.0.1": "http://", "rtmp://a/b": "http://", "http://": "http://"}},
	{"allow-publish", "[10.0.0.0/8, ::1]", "10.0.0.0/8,::1", map[string]string{"10.0.0.0/33": "10.0.0.0/33", "localhost": "localhost", "[10.0.0.1/8]": "10.0.0.1/8"}},
	{"allow-play", "192.0.2.1", "192.0.2.1", map[string]string{"nobody": "nobody"}},
	{"cors", "[https://example.com, http://localhost:3000]", "https://example.com,http://localhost:3000",
		map[string]string{"example.com": "origin", "https://example.com/": "origin", `["*", https://a.com]`: "alone", "ftp://a": "origin"}},
	{"max-memory", "4GiB", "4GiB", map[string]string{"-1": "not a size", "1MiB": "1MiB is less than 16MiB, and not 0", "99999999999GiB": "99999999999GiB is more than"}},
	{"max-streams", "0", "0", map[string]string{"-1": "0", "2000000000": "1073741824"}},
	{"max-streams-per-address", "3", "3", map[string]string{"-1": "0"}},
	{"publish-timeout", "1m", "1m0s", map[string]string{"1s": "2s", "2h": "1h0m0s"}},
	{"min-publish-rate", "2KiB", "2KiB", map[string]string{"2MiB": "1MiB"}},
	{"max-handshakes", "16", "16", map[string]string{"0": "1"}},
	{"max-handshakes-per-address", "8", "8", map[string]string{"0": "1"}},
	{"max-viewers", "7", "7", map[string]string{"-7": "0"}},
	{"max-viewers-per-address", "1000", "1000", map[string]string{"-7": "0"}},
	{"max-viewers-per-stream", "100", "100", map[string]string{"-7": "0"}},
	{"record", "recordings", "recordings", nil},
	{"record-all", "false", "false", map[string]string{"perhaps": "true nor false"}},
	{"record-format", "mp4", "mp4", map[string]string{"mkv": "flv, mp4"}},
	{"record-segment", "1h", "1h0m0s", map[string]string{"100ms": "1s", "-1s": "1s", "25h": "24h0m0s"}},
	{"record-keep", "24h", "24h0m0s", map[string]string{"1s": "1m0s", "100000h": "87600h0m0s", "9999999h": "9999999h is not within 1m0s to 87600h0m0s, and not 0", "-9999999h": "-9999999h is not within", "9999999hours": "unit"}},
	{"record-size", "10GiB", "10GiB", map[string]string{"-1": "not a size"}},
	{"rewind", "2h", "2h0m0s", map[string]string{"1ms": "1s", "100000h": "87600h0m0s"}},
	{"origin", "rtmp://origin.example.com", "rtmp://origin.example.com", map[string]string{"origin.example.com": "rtmp://", "https//a": "rtmp://"}},
	{"origin-retry", "10m", "10m0s", map[string]string{"0s": "1s"}},
	{"source", "[live/cam1=rtsp://a:b@camera/1, live/cam2=always:rtsps://camera/2]", "live/cam1=rtsp://a:b@camera/1,live/cam2=always:rtsps://camera/2", map[string]string{"rtsp://camera/1": "APP/NAME", "live/cam1=http://camera": "APP/NAME"}},
	{"push", `["live/*=rtmp://a.example/app/*", "live/s=rtmps://b.example/live2/${KEY}"]`, "live/*=rtmp://a.example/app/*,live/s=rtmps://b.example/live2/${KEY}",
		map[string]string{"live/*": "rtmp://", "live/s=http://a/b/c": "rtmp://", "=rtmp://a/b/c": "rtmp://"}},
	{"on-publish", `ffmpeg -i "${SLUICE_URL}" -f null -`, `ffmpeg -i "${SLUICE_URL}" -f null -`, map[string]string{`a "b`: "quote"}},
	{"max-commands", "3", "3", map[string]string{"0": "1"}},
	{"cluster", "true", "true", map[string]string{"perhaps": "true nor false"}},
	{"node-name", "a_1", "a_1", map[string]string{"a.b": "letters", "a b": "letters"}},
	{"join", "[10.0.0.1:7946, b:1]", "10.0.0.1:7946,b:1", map[string]string{"b": "HOST:PORT", "[a:1, \":7946\"]": "HOST:PORT"}},
	{"nats", "nats://nats.example:4222", "nats://nats.example:4222", map[string]string{"nats.example": "nats://", "http://a": "nats://"}},
	{"cluster-address", "10.0.0.1:7946", "10.0.0.1:7946", map[string]string{"10.0.0.1": "not an address"}},
	{"advertise", "http://10.0.0.1:8080", "http://10.0.0.1:8080", map[string]string{"10.0.0.1:8080": "http://", "rtmp://a": "http://"}},
	{"play-url", "https://a.example", "https://a.example", map[string]string{"a.example": "http://"}},
	{"place-viewers", "500", "500", map[string]string{"-1": "0"}},
	{"place-bandwidth", "100MiB", "100MiB", map[string]string{"-1": "size"}},
	{"place-processor", "80", "80", map[string]string{"101": "100"}},
	{"cluster-drain", "30s", "30s", map[string]string{"-1s": "0s", "1h": "10m0s"}},
	{"event-hook", "https://127.0.0.1:9/e", "https://127.0.0.1:9/e", map[string]string{"rtmp://a/b": "http://"}},
	{"event-spool", "/var/spool/sluice", "/var/spool/sluice", nil},
	{"event-spool-size", "2MiB", "2MiB", map[string]string{"1KiB": "1MiB"}},
	{"pprof", `"127.0.0.1:6060"`, "127.0.0.1:6060", map[string]string{`":6060"`: "loopback", `"10.0.0.1:6060"`: "loopback", "localhost": "not an address"}},
	{"log-level", "debug", "debug", map[string]string{"loud": "warn"}},
	{"log-format", "json", "json", map[string]string{"xml": "text, json"}},
	{"upgrade-socket", "/run/sluice/upgrade.sock", "/run/sluice/upgrade.sock", nil},
}

func configFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// setting finds a setting by its name.
func configSetting(t *testing.T, c *Config, name string) Setting {
	t.Helper()
	for _, s := range c.Settings() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no setting %q", name)
	panic("unreachable")
}

func TestEverySettingInAFile(t *testing.T) {
	all := Default()
	if len(configKeys) != len(all.Settings()) {
		t.Errorf("%d settings, the table has %d", len(all.Settings()), len(configKeys))
	}
	var whole strings.Builder
	for i, k := range configKeys {
		if got := all.Settings()[i].Name; got != k.name {
			t.Errorf("setting %d is %s, the table has %s", i, got, k.name)
		}
		c := Default()
		before := configSetting(t, &c, k.name).String()
		if err := c.ReadFile(configFile(t, "# a comment\n\n"+k.name+": "+k.yaml+"\n")); err != nil {
			t.Errorf("%s: %s: %v", k.name, k.yaml, err)
			continue
		}
		if got := configSetting(t, &c, k.name).String(); got != k.text || got == before {
			t.Errorf("%s: %s is %q, was %q", k.name, k.yaml, got, before)
		}
		// The text is what a flag takes, too.
		again := Default()
		if err := configSetting(t, &again, k.name).Set(k.text); err != nil {
			t.Errorf("--%s %s: %v", k.name, k.text, err)
		}
		again.places, c.places = nil, nil
		if !reflect.DeepEqual(again, c) {
			t.Errorf("%s: a file makes %+v, a flag %+v", k.name, c, again)
		}
		fmt.Fprintf(&whole, "%s: %s\n", k.name, k.yaml)
	}
	if err := all.ReadFile(configFile(t, whole.String())); err != nil {
		t.Error(err)
	}
	for _, k := range configKeys {
		if got := configSetting(t, &all, k.name).String(); got != k.text {
			t.Errorf("in a file with all: %s is %q", k.name, got)
		}
	}
}

func TestBadValuesInAFileNameKeyLineAndLimit(t *testing.T) {
	for _, k := range configKeys {
		for value, want := range k.bad {
			c := Default()
			before := fmt.Sprintf("%+v", c)
			name := configFile(t, "\n# a comment\n"+k.name+": "+value+"\n")
			err := c.ReadFile(name)
			if err == nil || !strings.HasPrefix(err.Error(), name+":3:1: "+k.name+": ") || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s: %v, want %q in it", k.name, value, err, want)
			}
			if after := fmt.Sprintf("%+v", c); after != before {
				t.Errorf("%s: %s: the configuration is %s", k.name, value, after)
			}
		}
	}
}

func TestFilesThatAreNoConfiguration(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"rtpm: \":1935\"\n", `:1:1: unknown key "rtpm"`},
		{"http: \":80\"\nport: 80\n", `:2:1: unknown key "port"`},
		{"http: \":80\"\ngrace: 1s\nhttp: \":81\"\n", "already defined"},
		{"http:\n", ":1:1: http: has no value"},
		{"http: ~\n", ":1:1: http: has no value"},
		{"http: [\":80\"]\n", ":1:1: http: takes one value"},
		{"http:\n  port: 80\n", ":1:1: http: takes a plain value"},
		{"protect:\n- publish\n- {a: b}\n", ":1:1: protect: takes a plain value"},
		{"cors: [\"https://a.com,https://b.com\"]\n", "comma"},
		{"- http\n", ":1:1: not a list of settings"},
		{"http\n", ":1:1: not a list of settings"},
		{"http: \":80\"\n---\ngrace: 1s\n", "second document"},
		{"http: \"unfinished\n", "sluice.yaml:1:7: could not find"},
		{"\tgrace: 1s\n", "sluice.yaml:1:6: tab"},
		{"a: &a [*a]\n", "unknown key"},
		{"grace: &g 1s\n", "takes a plain value"},
		{"secret: x\n", "unknown key"},
		{strings.Repeat("# long\n", 200_000), "longer than"},
	} {
		config := Default()
		err := config.ReadFile(configFile(t, c.text))
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40q: %v, want %q", c.text, err, c.says)
		}
	}
	for _, text := range []string{"", "# nothing\n", "---\n", "\ufeffgrace: 5s\n"} {
		c := Default()
		if err := c.ReadFile(configFile(t, text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	c := Default()
	if err := c.ReadFile(filepath.Join(t.TempDir(), "none.yaml")); !os.IsNotExist(err) {
		t.Errorf("no file: %v", err)
	}
}

func TestCheckNamesWhatDoesNotGoTogether(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		says   string
	}{
		{func(c *Config) {}, ""},
		{func(c *Config) { c.RTMP, c.HTTP, c.RTSP, c.SRT = "", "off", "off", "off" }, "all listeners are off"},
		{func(c *Config) { c.HTTP = ":1935" }, "http: \":1935\" is the address of rtmp too"},
		{func(c *Config) { c.RTMP = ":8554" }, "rtmp: \":8554\" is the address of rtsp too"},
		{func(c *Config) { c.RTSPUDP = ":8890" }, "rtsp-udp: \":8890\" is the address of srt too"},
		{func(c *Config) { c.SRT, c.HTTP = ":1935", "127.0.0.1:1935" }, ""},
		{func(c *Config) { c.RTMP, c.HTTP, c.RTSP = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0" }, ""},
		{func(c *Config) { c.HTTPS = ":443" }, "cert: "},
		{func(c *Config) { c.RTMPS, c.Cert = ":443", "a" }, "key: "},
		{func(c *Config) { c.Cert = "a" }, ""},
		{func(c *Config) { c.Protect = []string{"play"} }, "SLUICE_TOKEN_SECRET"},
		{func(c *Config) { c.Protect, c.TokenSecret = []string{"play"}, "short" }, "at least 16"},
		{func(c *Config) { c.Protect, c.TokenSecret = []string{"play"}, strings.Repeat("x", 16) }, ""},
		{func(c *Config) { c.ProxyProtocol = []string{"rtmp"} }, "trusted-proxies"},
		{func(c *Config) { c.Merge = time.Second }, "merge: 1s is not within 0s to 350ms"},
		{func(c *Config) { c.Takeover = "" }, "takeover: "},
		{func(c *Config) { c.PProf = ":1" }, "pprof: "},
	} {
		config := Default()
		c.change(&config)
		err := config.Check()
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, want %q", err, c.says)
		}
	}
	// What a file said is reported with its place.
	config := Default()
	name := configFile(t, "grace: 1s\nprotect: publish\n")
	if err := config.ReadFile(name); err != nil {
		t.Fatal(err)
	}
	if err := config.Check(); err == nil || !strings.HasPrefix(err.Error(), name+":2:1: protect: ") {
		t.Errorf("%v", err)
	}
}

// What YAML, and programs that write it, call true and false is that.
func TestTruthInAFile(t *testing.T) {
	for text, want := range map[string]bool{"true": true, "True": true, "TRUE": true, "on": true, "Yes": true, "1": true, "false": false, "False": false, "FALSE": false, "Off": false, "no": false, "0": false} {
		c := Default()
		c.Cluster = !want
		if err := c.readYAML("f", []byte("cluster: "+text)); err != nil || c.Cluster != want {
			t.Errorf("%s: %v, %v", text, c.Cluster, err)
		}
	}
}

func TestEverySettingInTheEnvironment(t *testing.T) {
	for _, k := range configKeys {
		c := Default()
		s := configSetting(t, &c, k.name)
		want := "SLUICE_" + strings.ToUpper(strings.ReplaceAll(k.name, "-", "_"))
		if s.Env() != want {
			t.Errorf("%s: the variable is %s, want %s", k.name, s.Env(), want)
		}
		if err := c.ReadEnv(environment(map[string]string{want: k.text})); err != nil || s.String() != k.text {
			t.Errorf("%s=%s: %v, the value is %s", want, k.text, err, s)
		}
		for value := range k.bad {
			if strings.ContainsAny(value, `"[`) {
				continue // YAML
			}
			c := Default()
			if err := c.ReadEnv(environment(map[string]string{want: value})); err == nil || !strings.HasPrefix(err.Error(), "$"+want+": ") {
				t.Errorf("%s=%s: %v", want, value, err)
			}
		}
	}
	c := Default()
	if err := c.ReadEnv(environment(map[string]string{"SLUICE_HTTP": "", "SLUICE_PORT": "tcp://10.0.0.1:1"})); err != nil || c.HTTP != ":8080" {
		t.Errorf("an empty variable: %v, http %q", err, c.HTTP)
	}
	// What does not go together is reported with its place.
	if err := c.ReadEnv(environment(map[string]string{"SLUICE_PROTECT": "play"})); err != nil {
		t.Fatal(err)
	}
	if err := c.Check(); err == nil || !strings.HasPrefix(err.Error(), "$SLUICE_PROTECT: protect: ") {
		t.Errorf("%v", err)
	}
}

func environment(variables map[string]string) func(string) string {
	return func(name string) string { return variables[name] }
}

func TestSecretsComeFromTheEnvironment(t *testing.T) {
	c := Default()
	if err := c.ReadEnv(environment(map[string]string{EnvTokenSecret: "s", EnvAPIToken: "t"})); err != nil {
		t.Error(err)
	}
	if c.TokenSecret != "s" || c.APIToken != "t" {
		t.Errorf("%+v", c)
	}
	for secret, says := range map[string]string{"t u": "", "t\n": "a line break", " ": "a space", "t\x00u": "a control character"} {
		err := c.ReadEnv(environment(map[string]string{EnvAPIToken: secret}))
		if (err == nil) != (says == "") || err != nil && (!strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), EnvAPIToken)) {
			t.Errorf("the API token %q: %v", secret, err)
		}
	}
	for _, s := range c.Settings() {
		if s.Secret || s.Name == "api-token" {
			t.Errorf("%s is among the settings of flags and files", s.Name)
		}
	}
	if err := c.ReadFile(configFile(t, "api-token: x\n")); err == nil {
		t.Error("a file may have a secret")
	}
}

// Every setting that differs is either changed or waits for a restart.
func TestReload(t *testing.T) {
	for _, k := range configKeys {
		now, next := Default(), Default()
		if err := configSetting(t, &next, k.name).Set(k.text); err != nil {
			t.Fatal(err)
		}
		s := configSetting(t, &now, k.name)
		before := s.String()
		changed, waiting := now.Reload(next)
		switch {
		case s.Live && (!reflect.DeepEqual(changed, []string{k.name}) || len(waiting) > 0 || s.String() != k.text):
			t.Errorf("%s: changed %v, waiting %v, value %s", k.name, changed, waiting, s)
		case !s.Live && (!reflect.DeepEqual(waiting, []string{k.name}) || len(changed) > 0 || s.String() != before):
			t.Errorf("%s: changed %v, waiting %v, value %s", k.name, changed, waiting, s)
		}
		if changed, waiting := now.Reload(now); len(changed)+len(waiting) > 0 {
			t.Errorf("%s: to itself: changed %v, waiting %v", k.name, changed, waiting)
		}
	}
}

// The documentation names the settings that wait for a restart, and no others.
func TestWhatWaitsForARestartIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../../../docs/relay.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "waits for a restart: ")
	list, _, _ = strings.Cut(list, ".\n")
	patterns := strings.Split(strings.NewReplacer("`", "", "\n", " ").Replace(list), ", ")
	used, c := map[string]bool{}, Default()
	for _, s := range c.all() {
		i := slices.IndexFunc(patterns, func(p string) bool { ok, _ := path.Match(p, s.Name); return ok })
		if s.Live == (i >= 0) {
			t.Errorf("%s: a reload applies it: %v; docs/relay.md names it: %v", s.Name, s.Live, i >= 0)
		}
		if i >= 0 {
			used[patterns[i]] = true
		}
	}
	if len(used) < len(patterns) {
		t.Errorf("of %q only these are settings: %v", patterns, used)
	}
}

// The sample in the documentation has every setting, with its default.
func TestSampleConfiguration(t *testing.T) {
	const name = "../../../../../docs/sluice.yaml"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	c := Default()
	if err := c.ReadFile(name); err != nil {
		t.Fatal(err)
	}
	if err := c.Check(); err != nil {
		t.Error(err)
	}
	c.places = nil
	if want := Default(); !reflect.DeepEqual(c, want) {
		t.Errorf("the sample makes %+v, the defaults are %+v", c, want)
	}
	// With what is commented out it still is one.
	var all strings.Builder
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "#"); ok && len(rest) > 1 && rest[0] != ' ' && rest[0] != '#' {
			line = rest
		}
		all.WriteString(line)
	}
	whole := Default()
	if err := whole.ReadFile(configFile(t, all.String())); err != nil {
		t.Fatal(err)
	}
	for _, s := range whole.Settings() {
		if whole.places[s.Name] == "" {
			t.Errorf("the sample does not mention %s", s.Name)
		}
	}
	whole.TokenSecret = strings.Repeat("x", 16)
	if err := whole.Check(); err != nil {
		t.Errorf("with what is commented out: %v", err)
	}
}
