package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/memory"
)

const (
	// ownDescriptors is what the program needs besides one for each session.
	ownDescriptors = 64
	// perViewer is about what the kernel may hold for a viewer who lags, in bytes.
	perViewer = 256 << 10
	// backlog is how many connections that are not accepted yet a burst of viewers needs.
	backlog = 1024
)

// kernel looks at settings of the kernel, which stand below root: /proc/sys.
func kernel(root string, c config.Config) []Finding {
	numbers := func(name string) []int64 {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil
		}
		var list []int64
		for _, f := range strings.Fields(string(text)) {
			n, err := strconv.ParseInt(f, 10, 64)
			if err != nil {
				return nil
			}
			list = append(list, n)
		}
		return list
	}
	var findings []Finding
	if n := numbers("net/core/somaxconn"); len(n) != 1 {
		findings = append(findings, Finding{Unknown, "net.core.somaxconn", "not known on this system"})
	} else if n[0] < backlog {
		findings = append(findings, Finding{Warning, "net.core.somaxconn", fmt.Sprintf("%d: a burst of viewers loses connections; sysctl -w net.core.somaxconn=4096", n[0])})
	} else {
		findings = append(findings, Finding{OK, "net.core.somaxconn", strconv.FormatInt(n[0], 10)})
	}
	if n := numbers("net/ipv4/tcp_mem"); len(n) != 3 {
		findings = append(findings, Finding{Unknown, "net.ipv4.tcp_mem", "not known on this system"})
	} else {
		most := n[2] * int64(os.Getpagesize())
		need := int64(c.MaxViewers) * perViewer
		if most < need {
			findings = append(findings, Finding{Warning, "net.ipv4.tcp_mem", fmt.Sprintf("%d MiB for all sockets: %d viewers who lag could take %d MiB; lower --max-viewers or raise it", most>>20, c.MaxViewers, need>>20)})
		} else {
			findings = append(findings, Finding{OK, "net.ipv4.tcp_mem", fmt.Sprintf("%d MiB for all sockets", most>>20)})
		}
	}
	machine := memory.Machine()
	switch {
	case machine == 0:
		findings = append(findings, Finding{Unknown, "memory", "not known on this system: set --max-memory"})
	case memory.Limit(c.MaxMemory, machine) < c.MaxMemory:
		findings = append(findings, Finding{Warning, "memory", fmt.Sprintf("--max-memory is %d MiB, and the machine, its control group or another limit of the process has %d MiB, of which serve takes three quarters", c.MaxMemory>>20, machine>>20)})
	default:
		findings = append(findings, Finding{OK, "memory", fmt.Sprintf("%d MiB of the machine or its control group", machine>>20)})
	}
	return findings
}
