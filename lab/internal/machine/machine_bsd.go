//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package machine

import "golang.org/x/sys/unix"

func hardware() (cpu, kernel string) {
	kernel, _ = unix.Sysctl("kern.osrelease")
	// macOS has the name under the first key, the others under the second.
	for _, key := range []string{"machdep.cpu.brand_string", "hw.model"} {
		if name, err := unix.Sysctl(key); err == nil && name != "" {
			return name, kernel
		}
	}
	return "", kernel
}

func surroundings(*Machine) {}
