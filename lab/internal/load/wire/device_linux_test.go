package wire

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A device that is mounted, or held as mounting does it, is not written to, even if that is allowed.
func TestADeviceInUseIsNotWrittenTo(t *testing.T) {
	image := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(image, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	name, err := exec.CommandContext(t.Context(), "losetup", "--find", "--show", image).Output()
	if err != nil {
		t.Skipf("no loop device can be made: %v", err)
	}
	device := strings.TrimSpace(string(name))
	defer func() {
		if err := exec.Command("losetup", "--detach", device).Run(); err != nil {
			t.Error(err)
		}
	}()
	prepare := func(pattern string) error {
		target, err := ParseTarget("file:"+device, &Options{File: &File{Pattern: pattern, Overwrite: true}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = target.Prepare(t.Context())
		return err
	}
	if err := prepare("write"); err != nil {
		t.Errorf("a device that is free: %v", err)
	}
	held, err := os.OpenFile(device, os.O_RDONLY|os.O_EXCL, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := prepare("randwrite"); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("a device in use: %v", err)
	}
	if err := prepare("read"); err != nil {
		t.Errorf("reading a device in use: %v", err)
	}
}
