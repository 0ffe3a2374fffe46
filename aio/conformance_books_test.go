package aio_test

import (
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/sluice-go/sluice/aio"
)

// complaints is a testing.TB that only counts.
type complaints struct {
	testing.TB
	n int
}

func (c *complaints) Helper()               {}
func (c *complaints) Errorf(string, ...any) { c.n++ }

// TestConformanceBooks: what no behaviour asks for in so many words, the books
// of the fixture check for every completion. They must notice.
func TestConformanceBooks(t *testing.T) {
	errFailed := errors.New("failed")
	for _, c := range []struct {
		name  string
		spoil func(first *op, r *aio.OpResult)
		want  int
	}{
		{"as it must be", func(_ *op, r *aio.OpResult) {}, 0},
		{"another buffer", func(_ *op, r *aio.OpResult) { r.Buffer = make([]byte, 4) }, 1},
		{"a part of the buffer", func(_ *op, r *aio.OpResult) { r.Buffer = r.Buffer[:3] }, 1},
		{"too many bytes", func(_ *op, r *aio.OpResult) { r.Size = 5 }, 1},
		{"a buffer of the watcher", func(_ *op, r *aio.OpResult) { r.IsSwapBuffer = true }, 1},
		{"nothing and no error", func(_ *op, r *aio.OpResult) { r.Size = 0 }, 1},
		{"nothing and an error", func(_ *op, r *aio.OpResult) { r.Size, r.Error = 0, errFailed }, 0},
		{"a write", func(_ *op, r *aio.OpResult) { r.Operation = aio.OpWrite }, 1},
		{"another connection", func(_ *op, r *aio.OpResult) { r.Conn = &net.TCPConn{} }, 1},
		{"out of turn", func(first *op, r *aio.OpResult) { r.Context = first }, 1},
		{"unknown", func(_ *op, r *aio.OpResult) { r.Context = 1 }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			inner := &complaints{TB: t}
			f := &fixture{TB: inner, queues: map[queueKey][]*op{}}
			conn := &net.TCPConn{}
			var ops [2]*op
			for i := range ops {
				ops[i] = &op{name: fmt.Sprintf("Read %d", i), conn: conn, buf: make([]byte, 4)}
				f.must(ops[i], func() error { return nil })
			}
			r := aio.OpResult{Context: ops[0], Conn: conn, Buffer: ops[0].buf, Size: 4}
			if c.name == "out of turn" {
				r.Buffer = ops[1].buf
			}
			c.spoil(ops[1], &r)
			f.settle([]aio.OpResult{r}, nil)
			if inner.n != c.want {
				t.Errorf("%d complaints, want %d", inner.n, c.want)
			}
			if c.want == 0 && r.Error == nil && r.Context == ops[0] {
				f.settle([]aio.OpResult{r}, nil)
				if inner.n != 1 {
					t.Errorf("a second completion: %d complaints, want 1", inner.n)
				}
			}
		})
	}
}
