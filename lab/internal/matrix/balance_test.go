package matrix

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/lab/internal/load"
)

// A workshop is a server of frames in virtual time: so many requests at once take a service
// time each, the others wait. Its throughput grows up to as many connections as it has
// workers, and no further: that is where its knee is.
type workshop struct {
	workers chan struct{}
	service time.Duration
}

func newWorkshop(workers int, service time.Duration) *workshop {
	return &workshop{make(chan struct{}, workers), service}
}

func (w *workshop) dial(context.Context, string) (net.Conn, error) {
	near, far := net.Pipe()
	go w.serve(far)
	return near, nil
}

func (w *workshop) serve(conn net.Conn) {
	defer conn.Close()
	for {
		frame := make([]byte, 4)
		if _, err := io.ReadFull(conn, frame); err != nil {
			return
		}
		frame = append(frame, make([]byte, binary.BigEndian.Uint32(frame))...)
		if _, err := io.ReadFull(conn, frame[4:]); err != nil {
			return
		}
		w.workers <- struct{}{}
		<-time.After(w.service)
		<-w.workers
		if _, err := conn.Write(frame); err != nil {
			return
		}
	}
}

// The balance point of a server is found by load's own engine, wherever it is.
func TestTheBalancePointOfAKnownServer(t *testing.T) {
	for _, workers := range []int{1, 4, 16} {
		synctest.Test(t, func(t *testing.T) {
			f, err := New(SizeConns, Choice{Layers: []string{"std"}, Rows: "64", Columns: "1,2,4,8,16,32,64", Cell: 400 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			server := newWorkshop(workers, 5*time.Millisecond)
			err = Measure(t.Context(), f, Options{
				Load: func(ctx context.Context, p load.Plan) (*load.Result, error) {
					r, err := load.RunOver(ctx, p, server.dial)
					synctest.Wait() // what is left of it ends
					return r, err
				},
				Start: func(context.Context, []string) (*Server, error) { return &Server{Addr: "virtual:1"}, nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf("%d at 64 B", workers)
			if len(f.Knees) != 1 || f.Knees[0].Label != want || f.Knees[0].Open {
				t.Errorf("%d workers: the knee is %+v, want %s", workers, f.Knees, want)
			}
			best, _ := f.Cells[len(f.Cells)-1].Median(IOPS)
			if most := float64(workers) * 200; best < 0.9*most || best > 1.1*most {
				t.Errorf("%d workers answer %.0f requests a second, want %.0f", workers, best, most)
			}
		})
	}
}
