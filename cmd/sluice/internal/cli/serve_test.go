package cli

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/logtest"
	"github.com/sluice-go/sluice/internal/testcert"
)

// serveWait bounds every wait for a relay.
const serveWait = 2 * time.Minute

// A serveRun is a call of this binary as sluice serve.
type serveRun struct {
	*program
	out *bufio.Reader // its standard output
	log logtest.Log   // its standard error, for reading while it runs
}

// startServe runs sluice serve. env is put before the environment.
func startServe(t *testing.T, env []string, args ...string) *serveRun {
	t.Helper()
	s := newServe(t, env, args...)
	s.start(t)
	return s
}

func newServe(t *testing.T, env []string, args ...string) *serveRun {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no SIGTERM on this system")
	}
	s := &serveRun{program: newProgram(t, append([]string{"serve", "--rtmp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--rtsp", "127.0.0.1:0", "--webrtc", "off", "--srt", "127.0.0.1:0"}, args...)...)}
	s.Env = append(s.Env, env...)
	s.Cmd.Stdout, s.Cmd.Stderr = nil, io.MultiWriter(&s.stderr, &s.log)
	return s
}

func (s *serveRun) start(t *testing.T) {
	t.Helper()
	pipe, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(serveWait, func() { s.Process.Kill() })
	t.Cleanup(func() { late.Stop(); s.Process.Kill() })
	s.out = bufio.NewReader(pipe)
}

// end sends signals one after the other, and returns what else was printed.
func (s *serveRun) end(t *testing.T, signals ...os.Signal) (rest string, exit int) {
	t.Helper()
	for _, got := range signals {
		if err := s.Process.Signal(got); err != nil {
			t.Fatal(err)
		}
	}
	text, err := io.ReadAll(s.out)
	if err != nil {
		t.Error(err)
	}
	exit = code(t, s.Wait())
	return string(text), exit
}

// ready reads the line of --json.
func (s *serveRun) ready(t *testing.T) (r serveReady) {
	t.Helper()
	line, err := s.out.ReadString('\n')
	if err == nil {
		err = json.Unmarshal([]byte(line), &r)
	}
	if err != nil {
		t.Fatalf("%v: %q: %s", err, line, s.stderr.String())
	}
	return r
}

func TestServeSaysWhereItIsInJSON(t *testing.T) {
	s := startServe(t, nil, "--json", "--pprof", "127.0.0.1:0", "--webrtc", "127.0.0.1:0")
	r := s.ready(t)
	if r.PID != s.Process.Pid || r.RTMPS != "" || r.HTTPS != "" {
		t.Errorf("%+v", r)
	}
	for _, address := range []string{r.RTMP, r.HTTP, r.PProf, r.WebRTC} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Error(err)
			continue
		}
		conn.Close()
	}
	resp, err := http.Get("http://" + r.HTTP + "/api/streams")
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Server struct{ Version string } }
	err = json.NewDecoder(resp.Body).Decode(&answer)
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if err != nil || answer.Server.Version != buildVersion() {
		t.Errorf("%v, version %q", err, answer.Server.Version)
	}
	rest, exit := s.end(t, syscall.SIGTERM)
	if rest != "" || exit != ExitOK {
		t.Errorf("exit code %d, printed %q", exit, rest)
	}
	if log := s.stderr.String(); !strings.Contains(log, "msg=listening") || !strings.Contains(log, "shutting down") {
		t.Errorf("log: %s", log)
	}
}

func TestServePrintsTheLines(t *testing.T) {
	s := startServe(t, []string{"SLUICE_TOKEN_SECRET=0123456789abcdef"}, "--protect", "publish", "--log-level", "error")
	first, err := s.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	text, exit := s.end(t, os.Interrupt)
	if exit != ExitOK || s.stderr.Len() > 0 {
		t.Errorf("exit code %d: %s", exit, s.stderr.String())
	}
	rtmp, rest, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(first), "sluice serve: RTMP "), ", HTTP ")
	web, rest, more := strings.Cut(rest, ", RTSP ")
	rtsp, srt, last := strings.Cut(rest, ", SRT ")
	if !ok || !more || !last {
		t.Fatalf("the first line is %q", first)
	}
	for _, line := range []string{
		"  ffmpeg   ffmpeg -re -stream_loop -1 -i clip.mp4 -c copy -f flv 'rtmp://" + rtmp + "/live/s?token=TOKEN'",
		"  OBS      Settings, Stream: Service Custom, Server rtmp://" + rtmp + "/live, Stream Key s?token=TOKEN",
		"  ffplay   ffplay rtmp://" + rtmp + "/live/s",
		"  VLC      vlc http://" + web + "/live/s.flv",
		"  browser  http://" + web + "/",
		"  RTSP     ffmpeg -re -stream_loop -1 -i clip.mp4 -c copy -f rtsp 'rtsp://" + rtsp + "/live/s?token=TOKEN'",
		"  RTSP     ffplay -rtsp_transport tcp rtsp://" + rtsp + "/live/s",
		"  SRT      ffmpeg -re -stream_loop -1 -i clip.mp4 -c copy -f mpegts 'srt://" + srt + "?streamid=publish:live/s%3Ftoken%3DTOKEN'",
		"  SRT      ffplay 'srt://" + srt + "?streamid=read:live/s'",
		"To publish needs a token: sluice token --publish live/s --expires 24h",
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %q in\n%s", line, text)
		}
	}
	if strings.Contains(text, "other machines") {
		t.Errorf("speaks of other machines on the loopback interface:\n%s", text)
	}
}

func TestServeLinesOfOtherAddresses(t *testing.T) {
	for _, c := range []struct {
		at           map[string]string
		protect      []string
		want, wantNo []string
	}{
		{
			at: map[string]string{"rtmp": "[::]:1935", "http": "0.0.0.0:8080"},
			want: []string{
				"flv rtmp://127.0.0.1:1935/live/s\n", "Server rtmp://127.0.0.1:1935/live, Stream Key s\n",
				"vlc http://127.0.0.1:8080/live/s.flv\n", "browser  http://127.0.0.1:8080/\n",
			},
			wantNo: []string{"token", "[::]:1935/"},
		},
		{
			at:     map[string]string{"https": "192.0.2.1:443"},
			want:   []string{"flv https://192.0.2.1:443/live/s.flv\n", "ffplay https://192.0.2.1:443/live/s.flv\n", "browser  https://192.0.2.1:443/\n"},
			wantNo: []string{"rtmp://", "OBS", "instead of"},
		},
		{
			at:      map[string]string{"rtmps": "[2001:db8::1]:1936"},
			protect: []string{"play"},
			want:    []string{"flv rtmps://[2001:db8::1]:1936/live/s\n", "vlc 'rtmps://[2001:db8::1]:1936/live/s?token=TOKEN'\n", "sluice token --play live/s"},
			wantNo:  []string{"browser", "http"},
		},
	} {
		var b strings.Builder
		settings := config.Default()
		settings.Protect = c.protect
		if err := printLines(&b, settings, c.at); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%v: no %q in\n%s", c.at, want, b.String())
			}
		}
		for _, no := range c.wantNo {
			if strings.Contains(b.String(), no) {
				t.Errorf("%v: %q in\n%s", c.at, no, b.String())
			}
		}
	}
}

// What holds: the flag, then the environment, then the file, then the default.
func TestServeConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sluice.yaml")
	text := "merge: 10ms\ngrace: 1s\ntakeover: replace\nhttp: \"127.0.0.1:1\"\ncors: [https://a.example, https://b.example]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := (App{}).serve()
	f := &settingFlags{config: config.Default(), file: file}
	if err := cmd.ParseFlags([]string{"--config", file, "--merge", "20ms", "--http", "127.0.0.1:0", "--gop=false"}); err != nil {
		t.Fatal(err)
	}
	got, err := f.resolve(cmd.Flags(), func(name string) string {
		return map[string]string{"SLUICE_MERGE": "30ms", "SLUICE_GRACE": "2s", "SLUICE_GOP_TIME": "7s"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Merge != 20*time.Millisecond || got.Grace != 2*time.Second || got.GOPTime != 7*time.Second || got.Takeover != "replace" || got.HTTP != "127.0.0.1:0" || got.GOP || got.RTMP != ":1935" || len(got.CORS) != 2 {
		t.Errorf("%+v", got)
	}
}

// A flag for a list is given once with commas, or several times; either goes before the
// environment.
func TestServeFlagsOfListsAreGivenSeveralTimes(t *testing.T) {
	f, flags := newSettingFlags(), &cobra.Command{}
	f.addTo(flags)
	if err := flags.ParseFlags([]string{"--push", "live/*=rtmp://a/x/*", "--cors=https://a.example,https://b.example", "--push=live/s=rtmp://b/x/y", "--cors", "https://c.example", "--grace=1s", "--grace=2s"}); err != nil {
		t.Fatal(err)
	}
	got, err := f.resolve(flags.Flags(), func(name string) string {
		return map[string]string{"SLUICE_PUSH": "live/no=rtmp://c/x/z"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Push, []string{"live/*=rtmp://a/x/*", "live/s=rtmp://b/x/y"}) || !slices.Equal(got.CORS, []string{"https://a.example", "https://b.example", "https://c.example"}) || got.Grace != 2*time.Second {
		t.Errorf("push %q, cors %q, grace %v", got.Push, got.CORS, got.Grace)
	}
	if err := flags.ParseFlags([]string{"--push", "nonsense"}); err == nil {
		t.Error("a target that is none was taken")
	}
}

func TestServeSecondSignalEndsItAtOnce(t *testing.T) {
	s := startServe(t, nil, "--json", "--grace", "1m")
	r := s.ready(t)
	// A viewer that does not read holds the end up, and a publisher that has sent its sequence header: pictures before
	// that are left out, and there would be nothing to read.
	pr, pw := io.Pipe()
	req, err := http.NewRequest("POST", "http://"+r.HTTP+"/live/s.flv", pr)
	if err != nil {
		t.Fatal(err)
	}
	posted := make(chan error, 1)
	go func() {
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err == nil {
			resp.Body.Close()
		}
		pr.CloseWithError(io.ErrClosedPipe)
		posted <- err
	}()
	pw.Write([]byte("FLV\x01\x05\x00\x00\x00\x09\x00\x00\x00\x00" +
		"\x09\x00\x00\x1c\x00\x00\x00\x00\x00\x00\x00" + "\x17\x00\x00\x00\x00" +
		"\x01\x42\xc0\x1e\xff\xe1\x00\x08\x67\x42\xc0\x1e\xd9\x00\xa0\x47" + "\x01\x00\x04\x68\xce\x3c\x80" + "\x00\x00\x00\x27"))
	conn, err := net.Dial("tcp", r.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.(*net.TCPConn).SetReadBuffer(4096)
	io.WriteString(conn, "GET /live/s.flv?wait=20 HTTP/1.1\r\nHost: a\r\n\r\n")
	// Key frames of a megabyte: more than the sockets hold.
	frame := make([]byte, 11+1<<20+4)
	copy(frame, "\x09\x10\x00\x00\x00\x00\x00\x00\x00\x00\x00\x17\x01")
	copy(frame[11+1<<20:], "\x00\x10\x00\x0b")
	taken := func() (bytes int64) {
		resp, err := http.Get("http://" + r.HTTP + "/api/clients")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var all struct {
			Clients []struct {
				ID    string
				Bytes int64
			}
		}
		if err := json.NewDecoder(resp.Body).Decode(&all); err != nil {
			t.Fatal(err)
		}
		for _, c := range all.Clients {
			if c.ID == "v1" {
				bytes = c.Bytes
			}
		}
		return bytes
	}
	defer http.DefaultClient.CloseIdleConnections()
	late := time.Now().Add(serveWait)
	for before, same := int64(0), 0; same < 10; {
		if time.Now().After(late) {
			t.Fatal("the viewer takes everything")
		}
		if _, err := pw.Write(frame); err != nil {
			t.Fatal(err)
		}
		if now := taken(); now == before && now > 4096 {
			same++
		} else {
			before, same = now, 0
		}
	}
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-posted // the publisher is notified when the shutdown begins
	_, exit := s.end(t, syscall.SIGTERM)
	if exit != ExitUnusable || !strings.Contains(s.stderr.String(), "sluice: serve: ended by a second signal") {
		t.Errorf("exit code %d: %s", exit, s.stderr.String())
	}
	if strings.Contains(s.stderr.String(), "cut off") {
		t.Errorf("it waited for the end of the first: %s", s.stderr.String())
	}
}

// A program that takes the log and ends, as a collector does that is restarted, does not end the
// server: its sessions go on without the log.
func TestServeGoesOnWhenNothingReadsItsLog(t *testing.T) {
	s := newServe(t, nil, "--json", "--log-level", "debug")
	reads, writes, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reads.Close()
	s.Cmd.Stderr = writes
	s.start(t)
	writes.Close()
	r := s.ready(t)
	reads.Close()
	for range 3 { // each one is a line of the log
		resp, err := http.Get("http://" + r.HTTP + "/live/none.flv")
		if err != nil {
			t.Fatalf("without its log the server does not answer: %v", err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound {
			t.Errorf("the answer is %s", resp.Status)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	if _, exit := s.end(t, syscall.SIGTERM); exit != ExitOK {
		t.Errorf("exit code %d", exit)
	}
}

func TestServeThatCannotListen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, flag := range []string{"rtmp", "http", "pprof"} {
		args := []string{"serve", "--rtmp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--rtsp", "off", "--webrtc", "off", "--srt", "off"}
		p, exit := run(t, append(args, "--"+flag, l.Addr().String())...)
		want := "sluice: serve: " + flag + ": cannot listen at " + l.Addr().String() + ": address already in use: choose another with --" + flag + "\n"
		if stderr := p.stderr.String(); exit != ExitFailure || stderr != want && runtime.GOOS != "windows" {
			t.Errorf("exit code %d: %q, want %q", exit, stderr, want)
		}
		if p.stdout.Len() > 0 {
			t.Errorf("printed %q", p.stdout.String())
		}
	}
}

func TestServeWithWrongSettings(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "bad.yaml")
	if err := os.WriteFile(file, []byte("grace: 1s\nmerg: 10ms\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		exit int
		says string
	}{
		{[]string{"now"}, ExitUsage, "takes no arguments"},
		{[]string{"--merge", "1s"}, ExitUsage, "350ms"},
		{[]string{"--http", "8080"}, ExitUsage, "--http"},
		{[]string{"--rtmp", "off", "--http", "", "--rtsp", "off", "--srt", "off"}, ExitUsage, "all listeners are off"},
		{[]string{"--https", ":0"}, ExitUsage, "cert"},
		{[]string{"--protect", "play"}, ExitUsage, "SLUICE_TOKEN_SECRET"},
		{[]string{"--pprof", ":6060"}, ExitUsage, "loopback"},
		{[]string{"--config", file}, ExitUsage, `bad.yaml:2:1: unknown key "merg"`},
		{[]string{"--config", filepath.Join(dir, "none.yaml")}, ExitUsage, "none.yaml"},
		{[]string{"--https", ":0", "--cert", "none", "--key", "none"}, ExitUsage, "certificate"},
		{[]string{"--record", filepath.Join(file, "below")}, ExitUsage, "record"},
		{[]string{"--push", "live/*=rtmp://host"}, ExitUsage, "--push: not a target"},
	} {
		p, exit := run(t, append([]string{"serve"}, c.args...)...)
		stderr := p.stderr.String()
		if exit != c.exit || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "sluice: ") || !strings.Contains(stderr, c.says) {
			t.Errorf("%q: exit code %d: %s", c.args, exit, stderr)
		}
		if p.stdout.Len() > 0 {
			t.Errorf("%q: printed %q", c.args, p.stdout.String())
		}
	}
}

func TestServeHelpIsGrouped(t *testing.T) {
	p, exit := run(t, "serve", "--help")
	text := p.stdout.String()
	if exit != 0 || p.stderr.Len() > 0 {
		t.Errorf("exit code %d, %s", exit, p.stderr.String())
	}
	at := 0
	for _, part := range append(append([]string{"Usage:\n  sluice serve [flags]\n", "Examples:\n  sluice serve "}, config.Groups()...), "Program") {
		if !strings.Contains(part, ":") {
			part = "\n" + part + ":\n"
		}
		i := strings.Index(text[at:], part)
		if i < 0 {
			t.Fatalf("no %q, or not in its place, in\n%s", part, text)
		}
		at += i
	}
	c := config.Default()
	for _, s := range c.Settings() {
		if strings.Count(text, "\n      --"+s.Name+" ") != 1 {
			t.Errorf("--%s is not there once", s.Name)
		}
	}
	for _, want := range []string{"--config file", "--json", "Exit codes: 0", "SLUICE_TOKEN_SECRET", "SLUICE_API_TOKEN", "?wait=", "(default 95ms)"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	for line := range strings.Lines(text) {
		if len(line) > 101 {
			t.Errorf("a long line: %q", line)
		}
	}
}

func TestServeReadsTheCertificateAgain(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	testcert.WriteNew(t, cert, key, 1)
	s := startServe(t, nil, "--json", "--https", "127.0.0.1:0", "--cert", cert, "--key", key, "--log-format", "json")
	r := s.ready(t)
	serial := func() int64 {
		conn, err := tls.Dial("tcp", r.HTTPS, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if n := serial(); n != 1 {
		t.Errorf("serial %d", n)
	}
	testcert.WriteNew(t, cert, key, 2)
	if err := s.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for late := time.Now().Add(serveWait); serial() != 2; {
		if time.Now().After(late) {
			t.Fatal("the certificate stays what it was")
		}
	}
	if _, exit := s.end(t, syscall.SIGTERM); exit != ExitOK {
		t.Errorf("exit code %d: %s", exit, s.stderr.String())
	}
	for line := range strings.Lines(s.stderr.String()) {
		var record struct{ Time, Level, Msg string }
		if err := json.Unmarshal([]byte(line), &record); err != nil || record.Msg == "" || record.Level == "" {
			t.Errorf("%v: %q", err, line)
		}
	}
}

// SIGHUP reads file and environment again: what can be changed is, what cannot is
// said, and what is wrong changes nothing.
func TestServeReadsTheConfigurationAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sluice.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("max-streams: 1\n")
	s := startServe(t, []string{"SLUICE_CONFIG=" + file, "SLUICE_LOG_FORMAT=json"}, "--json")
	r := s.ready(t)
	log := func(want string) {
		t.Helper()
		for late := time.Now().Add(serveWait); !strings.Contains(s.log.String(), want); time.Sleep(time.Millisecond) {
			if time.Now().After(late) {
				t.Fatalf("no %s in the log: %s", want, s.log.String())
			}
		}
	}
	publish := func(stream string) int {
		t.Helper()
		resp, err := http.Post("http://"+r.HTTP+stream, "video/x-flv", strings.NewReader("FLV\x01\x05\x00\x00\x00\x09\x00\x00\x00\x00"))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	defer http.DefaultClient.CloseIdleConnections()
	if status := publish("/live/a.flv"); status != 200 {
		t.Errorf("before: %d", status)
	}
	write("max-streams: 1\nallow-publish: 192.0.2.1\nmax-frame: 1MiB\n")
	if err := s.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	log(`"msg":"configuration read again","changed":"allow-publish"`)
	log(`"msg":"settings wait for a restart","settings":"max-frame"`)
	if status := publish("/live/a.flv"); status != 403 {
		t.Errorf("after: %d", status)
	}
	write("max-streams: many\n")
	if err := s.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	log(`sluice.yaml:1:1: max-streams: \"many\" is not a whole number`)
	if status := publish("/live/a.flv"); status != 403 {
		t.Errorf("after a wrong file: %d", status)
	}
	if _, exit := s.end(t, syscall.SIGTERM); exit != ExitOK {
		t.Errorf("exit code %d: %s", exit, s.stderr.String())
	}
}
