package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// A log that is not read holds nothing up. When it is read again, what fits comes in order, and the
// number of lines that did not.
func TestLogThatIsNotRead(t *testing.T) {
	reads, writes := io.Pipe()
	var q *logQueue
	q = newLogQueue(writes, func(lines int) { fmt.Fprintf(q, "lost %d\n", lines) })
	const lines = 20_000
	for i := range lines {
		fmt.Fprintf(q, "%d %s\n", i, strings.Repeat("x", 100))
	}
	read := make(chan []byte)
	go func() {
		all, _ := io.ReadAll(reads)
		read <- all
	}()
	q.close()
	<-q.over // a busy machine may need longer than close waits
	writes.Close()
	next, lost := 0, 0
	for line := range bytes.Lines(<-read) {
		var n int
		if _, err := fmt.Sscanf(string(line), "lost %d", &n); err == nil {
			lost += n
		} else if _, err := fmt.Sscanf(string(line), "%d ", &n); err != nil || n != next {
			t.Fatalf("line %d is %q", next, line)
		} else {
			next++
		}
	}
	if next+lost != lines || lost == 0 || next*110 < mostQueued {
		t.Errorf("%d lines came, and %d are counted as lost, of %d", next, lost, lines)
	}
}
