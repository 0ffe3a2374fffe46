package evidence

import "golang.org/x/sys/unix"

// permitTracing lets strace look at this process where the kernel allows that to
// ancestors only (kernel.yama.ptrace_scope = 1): strace is a sibling of the child.
// Where there is no such rule the call fails, and nothing was needed.
func permitTracing() {
	_ = unix.Prctl(unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0) // PR_SET_PTRACER_ANY
}
