package record

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/sluice-go/sluice/flv"
)

// killDir makes a run of this test's binary a recorder that never ends, into
// that directory.
const killDir = "SLUICE_TEST_RECORD_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(killDir); dir != "" {
		if err := recordForEver(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// recEndless is a source without an end. It says on stdout how many batches are
// written.
type recEndless struct {
	time uint32
	n    int
}

func (s *recEndless) Next(context.Context) ([]byte, int, error) {
	if s.n > 0 {
		fmt.Println(s.n)
	}
	s.n++
	var p []byte
	if s.n == 1 {
		p = append(p, recVideo(0, recConfig).bytes()...)
	}
	p = append(p, recVideo(s.time, recBig(recKey, 20_000)).bytes()...)
	for range 20 {
		s.time += 20
		p = append(p, recVideo(s.time, recBig(recInter, 3000)).bytes()...)
	}
	return p, 0, nil
}

func recordForEver(dir string) error {
	r, err := New(Options{Dir: dir})
	if err != nil {
		return err
	}
	return r.Record(context.Background(), "live/s", &recEndless{})
}

func TestFileIsPlayableAfterKill(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, batches := range []int{1, 30, 301} {
		dir := t.TempDir()
		child := exec.Command(self)
		child.Env = append(os.Environ(), killDir+"="+dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		written := 0
		for lines := bufio.NewScanner(out); written < batches && lines.Scan(); {
			if _, err := fmt.Sscan(lines.Text(), &written); err != nil {
				t.Error(err)
				break
			}
		}
		if err := child.Process.Kill(); err != nil {
			t.Error(err)
		}
		_, _ = io.Copy(io.Discard, out)
		if err := child.Wait(); err == nil {
			t.Error("the recorder ended by itself")
		}
		files := recFiles(t, dir)
		if len(files) != 1 {
			t.Fatalf("files %q", files)
		}
		f, err := os.Open(files[0])
		if err != nil {
			t.Fatal(err)
		}
		// The kernel may have been stopped inside the last write.
		report, err := flv.Probe(f, flv.ProbeOptions{})
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Jumps) > 0 || report.Tags.WrongSizes > 0 || report.Tags.Unknown > 0 || report.Video == nil || report.Audio != nil {
			t.Errorf("%v", report)
		}
		tags := int(report.Tags.Tags)
		if want := 1 + 21*batches; tags < want {
			t.Errorf("%d tags in the file, %d were written before the end", tags, want)
		}
	}
}
