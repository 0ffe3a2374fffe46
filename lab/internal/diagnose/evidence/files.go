package evidence

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"
)

// readFile takes what a file holds that was recorded earlier: a profile of pprof, an
// execution trace of Go, or the output of perf script or strace -f -T -ttt. Its form says
// which. It returns the name of the tool.
func (e *Evidence) readFile(path string) (tool string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 64<<10)
	head, _ := in.Peek(4096) // shorter files have less
	first, _, _ := bytes.Cut(head, []byte("\n"))
	switch {
	case bytes.HasPrefix(head, []byte("go 1.")):
		e.Waits, err = readTrace(in)
		if e.Waits != nil {
			e.Took = max(e.Took, e.Waits.Took)
		}
		return ToolTrace, err
	case perfPeriod(string(first), int64(time.Second)/perfRate) > 0:
		p, err := readPerfScript(in, int64(time.Second)/perfRate, nil)
		e.Perf = p
		return ToolPerfRecord, err
	case bytes.Contains(first, []byte("(")) && (bytes.Contains(head, []byte(") = ")) || bytes.Contains(head, []byte("<unfinished ...>"))):
		e.Calls, err = readStrace(in, false, nil)
		if e.Calls != nil {
			e.Took = max(e.Took, e.Calls.Took)
		}
		return ToolStrace, err
	}
	p, err := readPprof(in)
	if err != nil {
		return "", fmt.Errorf("%s is no profile of pprof, no trace of Go 1.22 or later, and no output of perf script or strace: %w", path, err)
	}
	return e.takePprof(p, strings.Contains(base(path), "mutex"))
}
