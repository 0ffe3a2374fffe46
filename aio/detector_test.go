package aio_test

import (
	"io"
	"net"
	"testing"

	"github.com/sluice-go/sluice/aio"
	"github.com/sluice-go/sluice/mem"
)

// What was done before a write has happened before what follows the read of it, also for the race
// detector, and also when one side is a connection of package net: a test of a server reads what
// its callbacks have noted when it has their answer.
func TestAnswersComeAfterWhatWasDoneBefore(t *testing.T) {
	for _, d := range driversHere(t) {
		for way, answer := range map[string]func(c *aio.Conn[int], a *mem.Allocator) error{
			"Write":    func(c *aio.Conn[int], _ *mem.Allocator) error { _, err := io.WriteString(c, "ab"); return err },
			"WriteBuf": func(c *aio.Conn[int], a *mem.Allocator) error { return c.WriteBuf(a.Get(2)) },
			"WriteMemory": func(c *aio.Conn[int], a *mem.Allocator) error {
				return c.WriteMemory(mem.NewMemory(a.Get(1), a.Get(1)))
			},
		} {
			t.Run(d.String()+"/"+way, func(t *testing.T) {
				asked, answered := 0, 0
				a := mem.New(mem.Options{Name: t.Name()})
				h := &aio.ConnHandler[int]{Data: func(c *aio.Conn[int], _ []byte) error {
					answered += asked
					return answer(c, a)
				}}
				s := serveConns(t, h, aio.Server{Options: aio.Options{Driver: d, Allocator: a}})
				defer s.end()
				var conn net.Conn = s.dial()
				defer conn.Close()
				for i := range 3 {
					asked = 1
					if _, err := io.WriteString(conn, "x"); err != nil {
						t.Fatal(err)
					}
					if _, err := io.ReadFull(conn, make([]byte, 2)); err != nil || answered != i+1 {
						t.Fatalf("%d answers of %d, %v", answered, i+1, err)
					}
				}
			})
		}
	}
}
