package abuse

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Resources are what a process holds.
type Resources struct {
	Descriptors int   `json:"descriptors"`
	Resident    int64 `json:"resident_bytes"`
}

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

// compare waits until the process has no more descriptors than before and little more
// memory, and says what has not come back.
func (r *Report) compare(ctx context.Context, before Resources, o Options) {
	ctx, cancel := context.WithTimeout(ctx, o.Settle)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for over := false; !over; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			over = true
		}
		after, err := readResources(o.PID)
		if err != nil {
			r.Problems = append(r.Problems, fmt.Sprintf("the server's process %d: %v", o.PID, err))
			return
		}
		r.Before, r.After = &before, &after
		if after.Descriptors <= before.Descriptors && after.Resident <= before.Resident+o.Growth {
			return
		}
	}
	if r.After.Descriptors > before.Descriptors {
		r.Problems = append(r.Problems, fmt.Sprintf("%v after the end the server had %d descriptors, and %d before", o.Settle, r.After.Descriptors, before.Descriptors))
	}
	if r.After.Resident > before.Resident+o.Growth {
		r.Problems = append(r.Problems, fmt.Sprintf("%v after the end the server had %d bytes resident, and %d before; %d more are allowed", o.Settle, r.After.Resident, before.Resident, o.Growth))
	}
}
