package abuse

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// readResources looks at a process of this machine.
func readResources(pid int) (r Resources, err error) {
	if pid == 0 {
		return r, errors.New("no process was named")
	}
	dir := "/proc/" + strconv.Itoa(pid)
	open, err := os.ReadDir(dir + "/fd")
	if err != nil {
		return r, err
	}
	r.Descriptors = len(open)
	status, err := os.ReadFile(dir + "/statm")
	if err != nil {
		return r, err
	}
	fields := strings.Fields(string(status))
	if len(fields) < 2 {
		return r, fmt.Errorf("%s/statm: %q", dir, status)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	r.Resident = pages * int64(os.Getpagesize())
	return r, err
}
