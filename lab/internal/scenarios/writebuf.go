package scenarios

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/sluice-go/sluice"
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
		variant := func(name, about string, open func(io.Writer) frameWriter) lab.Variant {
			return lab.Variant{Name: name, About: about, Open: func(env lab.Env) (lab.Runner, error) {
				n := size.bytes - frameHead
				return newSender(env, frameKind{env.Seed, n, n}, open)
			}}
		}
		group = append(group, lab.Scenario{
			Name:     "writebuf/" + strconv.Itoa(size.bytes),
			Title:    fmt.Sprintf("kept frames of %d bytes to loopback TCP, another process reads, the writer's processor time", size.bytes),
			Op:       "frame",
			Metric:   lab.CPUPerOp,
			Baseline: "bufio",
			Ops:      size.ops,
			Targets:  []lab.Target{{Variant: "writebuf", Against: "bufio", AtMost: size.most}},
			Variants: []lab.Variant{
				variant("bufio", "bufio.Writer of 64 KiB: Write, which copies, and Release", func(w io.Writer) frameWriter {
					return copying{bufio.NewWriterSize(w, 64<<10)}
				}),
				variant("writebuf", "our BufWriter: WriteBuf, transferred", func(w io.Writer) frameWriter { return sluice.NewBufWriter(w) }),
			},
		})
	}
	return group
}

type frameWriter interface {
	io.Writer
	Flush() error
	WriteBuf(mem.Buf) error
}

type copying struct{ *bufio.Writer }

func (w copying) WriteBuf(b mem.Buf) error {
	_, err := w.Write(b.Bytes())
	b.Release()
	return err
}

func newSender(env lab.Env, kind frameKind, open func(io.Writer) frameWriter) (lab.Runner, error) {
	l, err := listenLocal()
	if err != nil {
		return nil, err
	}
	defer l.Close()
	reader, err := tcpReader.start(env.Self, tcpWork{l.Addr().String(), kind, 1})
	if err != nil {
		return nil, err
	}
	conn, err := acceptFrom(l, reader)
	if err != nil {
		reader.Stop()
		return nil, err
	}
	at := place{s: kind.frames()}
	var frames []mem.Buf // the units of the ring
	r := runner{close: func() error {
		err := conn.Close()
		reader.Stop()
		for i := range frames {
			frames[i].Release()
		}
		return err
	}}
	err = conn.SetWriteBuffer(sendBuffer)
	source := sluice.NewBufReader(at.s.source(0))
	defer source.Recycle()
	for i := range at.s.units() {
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		var b mem.Buf
		if b, err = source.ReadBuf(int(at.s.size(i, 1))); err == nil {
			frames = append(frames, b) //sluice:moved
		}
	}
	w := open(conn)
	var word [8]byte
	r.run = func(ops int) (lab.Sample, error) {
		binary.BigEndian.PutUint64(word[:], uint64(ops))
		_, err := w.Write(word[:])
		for i, n := at.at, ops; n > 0 && err == nil; n-- {
			err = w.WriteBuf(frames[i].Retain())
			if i++; i == len(frames) {
				i = 0
			}
		}
		if err == nil {
			err = w.Flush()
		}
		if err == nil {
			_, err = io.ReadFull(conn, word[:])
		}
		if err != nil {
			return lab.Sample{}, fmt.Errorf("scenarios: sending %d frames: %w (%w)", ops, err, reader.Why())
		}
		return at.account(ops, binary.BigEndian.Uint64(word[:]))
	}
	return r, nil
}
