package listen

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/testcert"
)

// Files that have changed are noticed when it is time to look, and not before;
// what is no certificate does not replace one.
func TestCertificateFollowsItsFiles(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	write := func(serial int64) {
		t.Helper()
		testcert.WriteNew(t, cert, key, serial)
		// Both may be written within one step of the file system's clock.
		at := time.Now().Add(time.Duration(serial) * time.Second)
		if err := errors.Join(os.Chtimes(cert, at, at), os.Chtimes(key, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	write(1)
	c, err := LoadCertificate(cert, key, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	serial := func() int64 {
		t.Helper()
		got, err := c.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		return got.Leaf.SerialNumber.Int64()
	}
	write(2)
	if n := serial(); n != 1 {
		t.Errorf("serial %d before it is time to look", n)
	}
	c.checked = c.checked.Add(-checkEvery)
	if n := serial(); n != 2 {
		t.Errorf("serial %d after the files changed", n)
	}
	if err := os.WriteFile(cert, []byte("half a fi"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.checked = c.checked.Add(-checkEvery)
	if n := serial(); n != 2 {
		t.Errorf("serial %d after a bad file", n)
	}
	if err := c.Use(cert, key); err == nil || serial() != 2 {
		t.Errorf("use of a bad file: %v", err)
	}
}

// Clients that refuse a certificate just go: what is wrong with it is said once, when it is
// loaded and when its time comes.
func TestCertificateOutsideItsTimeIsSaid(t *testing.T) {
	cert, key := testcert.Files(t) // of two hours
	var log bytes.Buffer
	c, err := LoadCertificate(cert, key, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if log.Len() > 0 {
		t.Errorf("of a valid one: %s", &log)
	}
	for _, step := range []struct {
		after time.Duration // since it was made
		want  string
	}{
		{-2 * time.Hour, "not valid yet"}, {-2 * time.Hour, ""}, {10 * time.Minute, ""},
		{50 * time.Minute, "expires soon"}, {55 * time.Minute, ""},
		{2 * time.Hour, "has expired"}, {3 * time.Hour, ""},
	} {
		log.Reset()
		c.check(c.now.Leaf.NotAfter.Add(step.after - time.Hour))
		if got := log.String(); (step.want == "") != (got == "") || !strings.Contains(got, step.want) {
			t.Errorf("%v: %q, want %q", step.after, got, step.want)
		}
	}
	c.again()
	if log.Reset(); c.said != 0 {
		t.Errorf("%d was said of one that was read again", c.said)
	}
	if c.check(c.now.Leaf.NotAfter.Add(time.Second)); !strings.Contains(log.String(), "has expired") {
		t.Errorf("after it was read again: %q", &log)
	}
}
