//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package machine

import "golang.org/x/sys/unix"

func (m *Machine) ask() {
	m.Kernel, _ = unix.Sysctl("kern.osrelease")
	// macOS has the name under the first key, the others under the second.
	for _, key := range []string{"machdep.cpu.brand_string", "hw.model"} {
		if m.CPU, _ = unix.Sysctl(key); m.CPU != "" {
			return
		}
	}
}
