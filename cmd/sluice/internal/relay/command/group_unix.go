//go:build unix

package command

import (
	"os/exec"
	"syscall"
)

type groupSignal = syscall.Signal

const (
	terminated = syscall.SIGTERM
	killed     = syscall.SIGKILL
)

// ownGroup makes a command the leader of a process group, so that signals reach its
// children too, and an interrupt at the terminal does not reach it.
func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func signalGroup(c *exec.Cmd, s groupSignal) { _ = syscall.Kill(-c.Process.Pid, s) }
