package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// A log that is not read holds nothing up. When it is read again, what fits comes in order, and
// the number of lines that did not where they would stand.
func TestLogThatIsNotRead(t *testing.T) {
	reads, writes := io.Pipe()
	q := newLogQueue(writes, func(lines int) { fmt.Fprintf(writes, "lost %d\n", lines) })
	lines := 0
	write := func(n int) {
		for range n {
			fmt.Fprintf(q, "%d %s\n", lines, strings.Repeat("x", 100))
			lines++
		}
	}
	r := bufio.NewReaderSize(reads, 16)
	begun := func() { // the next of what waits is being written
		if _, err := r.Peek(1); err != nil {
			t.Fatal(err)
		}
	}
	write(1)
	begun()
	write(20_000) // more than fit
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	begun()
	write(100) // behind those that are lost
	read := make(chan []byte)
	go func() {
		all, _ := io.ReadAll(r)
		read <- all
	}()
	q.close()
	<-q.over // a busy machine may need longer than close waits
	writes.Close()
	next, lost := 1, 0
	for line := range bytes.Lines(<-read) {
		var n int
		if _, err := fmt.Sscanf(string(line), "lost %d", &n); err == nil {
			lost += n
			next += n
		} else if _, err := fmt.Sscanf(string(line), "%d ", &n); err != nil || n != next {
			t.Fatalf("line %d is %q", next, line)
		} else {
			next++
		}
	}
	if next != lines || lost == 0 || (lines-lost)*110 < mostQueued {
		t.Errorf("the last line is %d of %d, and %d are counted as lost", next, lines, lost)
	}
}
