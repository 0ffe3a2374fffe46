package command

import "golang.org/x/sys/unix"

// wait waits for the command's end, and kills what it has left behind: that would hold
// the stream, and the command's output. The signal goes out before the command is
// reaped, since its id may be another process's after that.
func (g *group) wait() error {
	for unix.Waitid(unix.P_PID, g.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	g.mu.Lock()
	signalGroup(g.cmd, killed)
	g.over = true
	g.mu.Unlock()
	return g.cmd.Wait()
}
