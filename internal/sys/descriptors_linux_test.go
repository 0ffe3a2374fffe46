package sys_test

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/sluice-go/sluice/internal/sys"
)

func TestThereIsRoomForDescriptors(t *testing.T) {
	const n = 700 // below usual limits
	sys.RoomForDescriptors(n)
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	size := regexp.MustCompile(`FDSize:\s+(\d+)`).FindSubmatch(status)
	if size == nil {
		t.Fatal("no FDSize in /proc/self/status")
	}
	if room, err := strconv.Atoi(string(size[1])); err != nil || room < n {
		t.Errorf("room for %d descriptors (%v), want %d", room, err, n)
	}
}
