package evidence

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// straceFor bounds the time under strace, where a call takes some 50 µs.
const straceFor = 1500 * time.Millisecond

func straceOf(ctx context.Context, pid int, dir string, d time.Duration, goProgram bool) (*Calls, error) {
	path, err := program("strace", "apt-get install strace")
	if err != nil {
		return nil, err
	}
	out := filepath.Join(dir, "strace")
	// Nothing of the data is written, but all lengths of what is given in pieces;
	// signals are left out.
	cmd := exec.Command(path, "-f", "-T", "-ttt", "-s", "0", "-e", "signal=none", "-e", "abbrev=!readv,writev,preadv,pwritev,preadv2,pwritev2,sendmsg,recvmsg,vmsplice", "-o", out)
	for _, n := range family(pid) {
		cmd.Args = append(cmd.Args, "-p", strconv.Itoa(n))
	}
	eventfds := eventfdsOf(pid)
	if err := attach(ctx, cmd, " attached", min(d, straceFor)); err != nil {
		return nil, err
	}
	file, err := os.Open(out)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readStrace(file, goProgram, eventfds)
}

func eventfdsOf(pid int) map[int]bool {
	found := map[int]bool{}
	dir := fmt.Sprintf("/proc/%d/fd/", pid)
	list, _ := os.ReadDir(dir)
	for _, entry := range list {
		if to, err := os.Readlink(dir + entry.Name()); err == nil && to == "anon_inode:[eventfd]" {
			number, _ := strconv.Atoi(entry.Name())
			found[number] = true
		}
	}
	return found
}
