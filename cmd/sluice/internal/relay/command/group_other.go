//go:build !unix

package command

import "os/exec"

type groupSignal bool

const (
	terminated groupSignal = false
	killed     groupSignal = true
)

func ownGroup(*exec.Cmd) {}

func signalGroup(c *exec.Cmd, _ groupSignal) { _ = c.Process.Kill() }
