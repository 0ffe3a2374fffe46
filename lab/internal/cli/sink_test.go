package cli

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/sink/acked"
	"github.com/sluice-go/sluice/lab/internal/sink/consensus"
	"github.com/sluice-go/sluice/lab/internal/sink/verify"
	"github.com/sluice-go/sluice/lab/internal/sink/wal"
)

// startSink runs lab sink and reads its first line.
func startSink(t *testing.T, args ...string) (s *echoServer, addr string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no SIGTERM on this system")
	}
	s = &echoServer{program: newProgram(t, append([]string{"sink"}, args...)...)}
	s.Cmd.Stdout = nil
	pipe, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(echoWait, func() { s.Process.Kill() })
	defer late.Stop()
	s.lines = bufio.NewScanner(pipe)
	if !s.lines.Scan() {
		t.Fatalf("%q says nothing, %v: %s", args, s.lines.Err(), s.stderr.String())
	}
	addr, ok := strings.CutPrefix(s.lines.Text(), "listening on ")
	if !ok {
		t.Fatalf("%q: the first line is %q", args, s.lines.Text())
	}
	return s, addr
}

// keep sends records and returns the numbers that they are answered.
func keep(t *testing.T, addr string, payloads ...string) []uint64 {
	t.Helper()
	numbers, err := tryKeep(t, addr, payloads...)
	if err != nil {
		t.Fatal(err)
	}
	return numbers
}

// tryKeep is keep of a sink that may end the connection.
func tryKeep(t *testing.T, addr string, payloads ...string) ([]uint64, error) {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, echoWait)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(echoWait))
	var all []byte
	for _, p := range payloads {
		all = append(binary.BigEndian.AppendUint32(all, uint32(len(p))), p...)
	}
	go c.Write(all)
	got := make([]byte, 8*len(payloads))
	if n, err := io.ReadFull(c, got); err != nil {
		return nil, fmt.Errorf("%d bytes of %d answers: %w", n, len(payloads), err)
	}
	numbers := make([]uint64, len(payloads))
	for i := range numbers {
		numbers[i] = binary.BigEndian.Uint64(got[8*i:])
	}
	return numbers, nil
}

func TestSinkKeepsWhatItAnswers(t *testing.T) {
	for _, flags := range []string{"--durability async --sync-every 1ms", "--durability sync"} {
		if err := keepsWhatItAnswers(t, flags); err != nil {
			t.Errorf("%s: %v", flags, err)
		}
	}
}

// A leader that gets no time is given up, and what was under way then is in doubt. On a
// machine that stands still that may happen, which is said; then all is done again.
func TestTrioKeepsWhatItAnswers(t *testing.T) {
	const flags = "--durability raft --trio"
	err := keepsWhatItAnswers(t, flags)
	for again := 0; again < 10 && errors.Is(err, errGivenUp); again++ {
		t.Log(err)
		err = keepsWhatItAnswers(t, flags)
	}
	if err != nil {
		t.Error(err)
	}
}

// errGivenUp is matched by the error of a connection that the sink has ended for want of a leader.
var errGivenUp = errors.New("without a leader")

// keepsWhatItAnswers starts a sink twice on one directory, and returns the error of a connection.
func keepsWhatItAnswers(t *testing.T, flags string) error {
	t.Helper()
	dir := t.TempDir()
	mode := strings.Fields(flags)[1]
	var payloads []string
	for i := range 100 {
		payloads = append(payloads, strings.Repeat(fmt.Sprint(i), i*10))
	}
	for start := range 2 {
		s, addr := startSink(t, append(strings.Fields(flags), "--dir", dir, "--segment", "16KiB", "--stats", "1ms", "127.0.0.1:0")...)
		numbers, err := tryKeep(t, addr, payloads...)
		if err != nil {
			s.end(t, syscall.SIGTERM)
			if said := s.stderr.String(); strings.Contains(said, consensus.ErrNotLeader.Error()) || strings.Contains(said, consensus.ErrInDoubt.Error()) {
				return fmt.Errorf("%w: %w: %s", errGivenUp, err, said)
			}
			return fmt.Errorf("%w: %s", err, s.stderr.String())
		}
		for i, n := range numbers {
			if n != uint64(start*100+i+1) {
				t.Fatalf("%s: record %d is answered %d", flags, start*100+i+1, n)
			}
		}
		for _, want := range []string{mode + ": acknowledged ", "the log is in " + dir, `{"seconds":`} {
			if !s.lines.Scan() || !strings.Contains(s.lines.Text(), want) {
				t.Errorf("%s: %q does not say %q", flags, s.lines.Text(), want)
			}
			if start == 1 && mode != "raft" && strings.HasPrefix(want, "the log") && !strings.HasSuffix(s.lines.Text(), "records 1 to 100") {
				t.Errorf("%s: %q", flags, s.lines.Text())
			}
		}
		rest, exit := s.end(t, syscall.SIGTERM)
		var last sinkStats
		if err := json.Unmarshal([]byte(rest[len(rest)-1]), &last); err != nil || exit != ExitOK || last.Accepted != 1 || last.Records != 100 {
			t.Errorf("%s: exit code %d, the last line is %q, %v, %s", flags, exit, rest[len(rest)-1], err, s.stderr.String())
		}
	}
	p, exit := run(t, "sink", "verify", dir)
	if want := ": 200 records, 1 to 200, in "; exit != 0 || !strings.Contains(p.stdout.String(), want) {
		t.Errorf("%s: exit code %d, %s%s", flags, exit, p.stdout.String(), p.stderr.String())
	}
	return nil
}

func TestSinkWithoutADirectoryLeavesNothing(t *testing.T) {
	s, addr := startSink(t, "--stats", "1h", "127.0.0.1:0")
	for range 2 {
		s.lines.Scan()
	}
	dir, ok := strings.CutSuffix(strings.TrimPrefix(s.lines.Text(), "the log is in "), ", which is removed at the end")
	if entries, err := os.ReadDir(dir); !ok || err != nil || len(entries) == 0 {
		t.Errorf("%s: %v, %v", s.lines.Text(), entries, err)
	}
	keep(t, addr, "a", "b")
	rest, exit := s.end(t, os.Interrupt) // which looks at the temporary directory
	var last sinkStats
	if err := json.Unmarshal([]byte(rest[len(rest)-1]), &last); err != nil {
		t.Fatal(err)
	}
	if exit != ExitOK || last.Records != 2 || last.Bytes != 2 || last.Groups == nil || last.Groups.Records != 2 {
		t.Errorf("exit code %d, %+v", exit, last)
	}
}

func TestSinkThatIsKilledStartsAgain(t *testing.T) {
	dir := t.TempDir()
	s, addr := startSink(t, "--dir", dir, "127.0.0.1:0")
	keep(t, addr, "one", "two")
	// Another one must not write there.
	p, exit := run(t, "sink", "--dir", dir, "127.0.0.1:0")
	if text := p.stderr.String(); exit != ExitFailure || !strings.Contains(text, "in use") || !strings.Contains(text, fmt.Sprint(s.Process.Pid)) || p.stdout.Len() > 0 {
		t.Errorf("exit code %d, %s", exit, text)
	}
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.Wait()
	// What a torn write leaves.
	names, err := filepath.Glob(filepath.Join(dir, "*"+wal.Suffix))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	f, err := os.OpenFile(names[0], os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte("torn"))
	f.Close()
	p, exit = run(t, "sink", "verify", dir)
	if text := p.stdout.String(); exit != 0 || !strings.Contains(text, ": 2 records, 1 to 2, in 1 file") || !strings.Contains(text, "ends in 4 bytes") {
		t.Errorf("exit code %d, %s", exit, text)
	}
	s, addr = startSink(t, "--dir", dir, "127.0.0.1:0")
	if got := keep(t, addr, "three"); got[0] != 3 {
		t.Errorf("answered %v", got)
	}
	rest, exit := s.end(t, syscall.SIGTERM)
	if text := strings.Join(rest, "\n"); exit != 0 || !strings.Contains(text, "4 bytes cut off "+filepath.Base(names[0])+", behind record 2: ") {
		t.Errorf("exit code %d, %s", exit, text)
	}
}

func TestSinkThatCannotBegin(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	damaged := t.TempDir()
	if err := os.WriteFile(filepath.Join(damaged, "00000000000000000001"+wal.Suffix), make([]byte, 1000), 0o644); err != nil {
		t.Fatal(err)
	}
	cluster, trio := t.TempDir(), t.TempDir()
	for _, dir := range []string{filepath.Join(cluster, "raft"), filepath.Join(trio, "1", "raft")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for says, args := range map[string][]string{
		"holds a log of raft (raft)":   {"--dir", cluster, "127.0.0.1:0"},
		"holds a log of raft (1/raft)": {"--dir", trio, "--durability", "async", "127.0.0.1:0"},
		"address already in use":       {l.Addr().String()},
		"not a directory":              {"--dir", file, "127.0.0.1:0"},
		"is damaged at byte 0":         {"--dir", damaged, "127.0.0.1:0"},
	} {
		p, exit := run(t, append([]string{"sink"}, args...)...)
		if text := p.stderr.String(); exit != ExitFailure || !strings.HasPrefix(text, "lab: sink: ") || strings.Count(text, "\n") != 1 || !strings.Contains(text, says) {
			t.Errorf("%q: exit code %d, %s", args, exit, text)
		}
		if p.stdout.Len() > 0 {
			t.Errorf("%q: printed %s", args, p.stdout.String())
		}
	}
}

func TestSinkVerifyHoldsAcknowledgementsAgainstLogs(t *testing.T) {
	dir, files := t.TempDir(), t.TempDir()
	l, _, err := wal.Open(dir, wal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		if _, err := l.AppendBatch([][]byte{fmt.Append(nil, i+1)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	acks := func(name string, numbers ...int) string {
		t.Helper()
		path := filepath.Join(files, name)
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		w := acked.NewWriter(f)
		for _, n := range numbers {
			p := fmt.Append(nil, n)
			w.Append(uint64(n), verify.Sum(p), uint32(len(p)))
		}
		if err := errors.Join(w.Flush(), f.Close()); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		args []string
		exit int
		says []string
	}{
		{[]string{dir}, 0, []string{dir + ": 30 records, 1 to 30, in 2 files of 835 B\n"}},
		{[]string{"--acked", acks("good", 1, 2, 30), dir}, 0, []string{"3 acknowledged, 3 found, 0 missing, 0 wrong", ": yes\n"}},
		{[]string{"--acked", acks("bad", 30, 31, 32), dir}, ExitMissed, []string{"1 found, 2 missing", "missing: 31 32\n", ": NO\n"}},
		{[]string{"--acked", acks("none"), dir}, 0, []string{"0 acknowledged", ": yes\n"}},
		{[]string{"--acked", filepath.Join(files, "nosuch"), dir}, ExitFailure, []string{"nosuch"}},
		{[]string{files}, ExitFailure, []string{files + ": NOT READABLE behind 0 records: verify: no log there", "1 of 1 log could not be read to the end"}},
		{[]string{files, dir}, ExitFailure, []string{"no log there", dir + ": 30 records, 1 to 30, in 2 files of 835 B\n", "1 of 2 logs could not be read to the end"}},
		{[]string{"--json", "-", "--acked", acks("bad", 30, 31, 32), dir}, ExitMissed, []string{`"missing": 2`, `"first_missing": [`}},
		{[]string{"--json", "-", "--acked", acks("bad", 30, 31, 32), files, dir}, ExitFailure, []string{`"missing": 2`, `"error": "verify: no log there`}},
	} {
		p, exit := run(t, append([]string{"sink", "verify"}, c.args...)...)
		text := p.stdout.String()
		if c.exit == ExitFailure {
			text += p.stderr.String()
		}
		if exit != c.exit {
			t.Errorf("%q: exit code %d, %s%s", c.args, exit, text, p.stderr.String())
		}
		for _, part := range c.says {
			if !strings.Contains(text, part) {
				t.Errorf("%q: %q does not say %q", c.args, text, part)
			}
		}
		if c.args[0] == "--json" {
			var r verify.Result
			if err := json.Unmarshal(p.stdout.Bytes(), &r); err != nil || r.Acked.Missing != 2 {
				t.Errorf("%v: %s", err, text)
			}
		}
	}
}

func TestByteSizes(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "65536": "64KiB", "512KiB": "512KiB", "16 MiB": "16MiB", "1GiB": "1GiB", "1000": "1000", "2048MiB": "2GiB",
	} {
		var v byteSize
		if err := v.Set(text); err != nil || v.String() != want {
			t.Errorf("%q is %s, %v", text, v.String(), err)
		}
	}
	for _, text := range []string{"", "x", "-1", "1MB", "MiB", "1.5MiB", "9223372036854775807GiB", "99999999999999999999"} {
		var v byteSize
		if err := v.Set(text); err == nil {
			t.Errorf("%q is %d", text, v)
		}
	}
}

func TestComplaintsAboutConnectionsAreBounded(t *testing.T) {
	var text strings.Builder
	complain := App{Stderr: &text}.complaints()
	for range 10_000 {
		complain(errors.New("not the leader"))
	}
	if n := strings.Count(text.String(), "\n"); n < 10 || n > 500 || !strings.HasPrefix(text.String(), "lab: sink: not the leader\n") {
		t.Errorf("%d lines", n)
	}
}
