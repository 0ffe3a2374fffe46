package scenarios

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/lab"
	"github.com/sluice-go/sluice/mem"
)

var _ = register(110, writeBufGroup)

// writeBufGroup sends frames that are kept, as a broker does: a reference is
// taken, the frame is written, and the reference let go.
func writeBufGroup() []lab.Scenario {
	var group []lab.Scenario
	for _, size := range []struct {
		bytes, ops int
		most       float64
	}{{100, 200_000, 1}, {600, 50_000, 0.97}, {2048, 20_000, 0.97}, {16_384, 4_000, 0.95}} {
		sc := lab.Scenario{
			Name:     "writebuf/" + strconv.Itoa(size.bytes),
			Title:    fmt.Sprintf("kept frames of %d bytes to loopback TCP, another process reads, the writer's processor time", size.bytes),
			Op:       "frame",
			Metric:   lab.CPUPerOp,
			Baseline: "bufio",
			Ops:      size.ops,
			Targets:  []lab.Target{{Variant: "writebuf", Against: "bufio", AtMost: size.most}},
		}
		for _, w := range frameWriters {
			sc.Variants = append(sc.Variants, lab.Variant{Name: w.name, About: w.about, Open: func(env lab.Env) (lab.Runner, error) {
				n := size.bytes - frameHead
				return newSender(env, frameKind{env.Seed, n, n}, w.open)
			}})
		}
		group = append(group, sc)
	}
	return group
}

// A frameWriter writes a header, then frames whose references it is given, and
// flushes at the end.
type frameWriter struct {
	name, about string
	open        func(net.Conn) writeFrames
}

type writeFrames func(head []byte, frames []mem.Buf, at, n int) error

var frameWriters = []frameWriter{
	{"bufio", "bufio.Writer of 64 KiB: Write, which copies, and Release", func(conn net.Conn) writeFrames {
		w := bufio.NewWriterSize(conn, 64<<10)
		return func(head []byte, frames []mem.Buf, at, n int) error {
			if _, err := w.Write(head); err != nil {
				return err
			}
			for range n {
				b := frames[at].Retain()
				_, err := w.Write(b.Bytes())
				b.Release()
				if err != nil {
					return err
				}
				if at++; at == len(frames) {
					at = 0
				}
			}
			return w.Flush()
		}
	}},
	{"writebuf", "our BufWriter: WriteBuf, transferred", func(conn net.Conn) writeFrames {
		w := sluice.NewBufWriter(conn)
		return func(head []byte, frames []mem.Buf, at, n int) error {
			if _, err := w.Write(head); err != nil {
				return err
			}
			for range n {
				if err := w.WriteBuf(frames[at].Retain()); err != nil {
					return err
				}
				if at++; at == len(frames) {
					at = 0
				}
			}
			return w.Flush()
		}
	}},
}

// A sender writes the units of a stream to a child that compares them.
type sender struct {
	place
	conn   *net.TCPConn
	child  *child.Process
	frames []mem.Buf // the units of the ring
	write  writeFrames
	word   [8]byte
}

func newSender(env lab.Env, kind frameKind, open func(net.Conn) writeFrames) (lab.Runner, error) {
	l, err := listenLocal()
	if err != nil {
		return nil, err
	}
	defer l.Close()
	x := &sender{place: place{s: kind.frames()}}
	if x.child, err = startChild(env.Self, "tcp-reader", l.Addr().String(), kind.String()); err != nil {
		return nil, err
	}
	if x.conn, err = acceptFrom(l, x.child); err != nil {
		x.child.Stop()
		return nil, err
	}
	if err := errors.Join(x.conn.SetWriteBuffer(sendBuffer), x.keep()); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	x.write = open(x.conn)
	return x, nil
}

// keep reads the units of the ring, once around.
func (x *sender) keep() error {
	r := sluice.NewBufReader(x.s.source(0))
	defer r.Recycle()
	for i := range x.s.units() {
		b, err := r.ReadBuf(int(x.s.size(i, 1)))
		if err != nil {
			return err
		}
		x.frames = append(x.frames, b)
	}
	return nil
}

func (x *sender) Run(ops int) (lab.Sample, error) {
	binary.BigEndian.PutUint64(x.word[:], uint64(ops))
	err := x.write(x.word[:], x.frames, x.at, ops)
	if err == nil {
		_, err = io.ReadFull(x.conn, x.word[:])
	}
	if err != nil {
		return lab.Sample{}, fmt.Errorf("scenarios: sending %d frames: %w (%w)", ops, err, x.child.Why())
	}
	return x.account(ops, binary.BigEndian.Uint64(x.word[:]))
}

func (x *sender) Close() error {
	err := x.conn.Close()
	x.child.Stop()
	for i := range x.frames {
		x.frames[i].Release()
	}
	x.frames = nil
	return err
}
