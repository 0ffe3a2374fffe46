package sluice_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/flvclip"
	"github.com/sluice-go/sluice/internal/flvwalk"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/sluicetest"
)

// rewrites are the ways to pass a tag on.
var rewrites = []struct {
	name string
	pass func(from *sluice.BufReader, walk *flvwalk.Walker, to *sluice.BufWriter) (flvwalk.Tag, error)
}{
	{"Next, Write", func(_ *sluice.BufReader, walk *flvwalk.Walker, to *sluice.BufWriter) (flvwalk.Tag, error) {
		tag, err := walk.Next()
		if err == nil {
			_, err = to.Write(flvwalk.AppendTag(nil, tag))
		}
		return tag, err
	}},
	{"Next, WriteByte and Write", func(_ *sluice.BufReader, walk *flvwalk.Walker, to *sluice.BufWriter) (flvwalk.Tag, error) {
		tag, err := walk.Next()
		if err != nil {
			return tag, err
		}
		n := uint32(len(tag.Data))
		for _, field := range []struct {
			v uint32
			n int
		}{{uint32(tag.Type), 1}, {n, 3}, {tag.Time & 0xffffff, 3}, {tag.Time >> 24, 1}, {0, 3}} {
			if err := writeNumber(to, field.v, field.n); err != nil {
				return tag, err
			}
		}
		if _, err := to.Write(tag.Data); err != nil {
			return tag, err
		}
		return tag, writeNumber(to, 11+n, 4)
	}},
	{"ReadBuf, WriteBuf", func(_ *sluice.BufReader, walk *flvwalk.Walker, to *sluice.BufWriter) (flvwalk.Tag, error) {
		tag, b, err := walk.NextBuf()
		if err != nil {
			return tag, err
		}
		// What WriteBuf was given is not looked at afterwards.
		seen := flvwalk.Tag{Type: tag.Type, Time: tag.Time, Data: bytes.Clone(tag.Data[:min(2, len(tag.Data))])}
		return seen, to.WriteBuf(b)
	}},
	{"ReadBytes, WriteMemory", func(from *sluice.BufReader, walk *flvwalk.Walker, to *sluice.BufWriter) (flvwalk.Tag, error) {
		if walk.Flags() == 0 {
			tag, err := walk.Next() // it begins with the file's header
			if err == nil {
				_, err = to.Write(flvwalk.AppendTag(nil, tag))
			}
			return tag, err
		}
		h, err := from.Peek(13)
		if err != nil {
			return flvwalk.Tag{}, err
		}
		tag := flvwalk.Tag{Type: h[0], Data: bytes.Clone(h[11:13])}
		m, err := from.ReadBytes(11 + (int(h[1])<<16 | int(h[2])<<8 | int(h[3])) + 4)
		if err != nil {
			return tag, err
		}
		return tag, to.WriteMemory(m)
	}},
}

// TestFLVIsPassedOnByteForByte walks real media from one connection to another:
// all tags are seen and counted, and what arrives is the file.
func TestFLVIsPassedOnByteForByte(t *testing.T) {
	seed := sluicetest.Seed(t)
	for _, network := range []string{"tcp", "unix", "tls"} {
		for _, c := range rewrites {
			for _, most := range []int{500, 50_000} {
				t.Run(fmt.Sprintf("%s/%s/to %d at once", network, c.name, most), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(seed, uint64(most)))
					in, source := flvPair(t, network)
					sink, out := flvPair(t, network)
					send(t, source, flvclip.File, func() int { return 1 + rng.IntN(most) })
					arrived := make(chan []byte, 1)
					goTest(t, func() {
						p, err := io.ReadAll(out)
						if err != nil {
							t.Error(err)
						}
						arrived <- p
					})
					t.Cleanup(func() { _ = sink.Close() })
					a := paranoid(t)
					passOn(t, readerOf(t, a, 0, in), writerOf(t, a, 0, sink), c.pass)
					closeWrite(sink)
					var got []byte
					within(t, "the other end", func() { got = <-arrived })
					if !bytes.Equal(got, flvclip.File) {
						t.Errorf("%d bytes arrived, %d were sent, and they are not the same", len(got), len(flvclip.File))
					}
				})
			}
		}
	}
}

func flvPair(t *testing.T, network string) (near, far net.Conn) {
	if network != "tls" {
		return streamPair(t, network)
	}
	a, b := tcpPair(t)
	return asConns(tlsOver(t, a, b))
}

func passOn(t *testing.T, from *sluice.BufReader, to *sluice.BufWriter, pass func(*sluice.BufReader, *flvwalk.Walker, *sluice.BufWriter) (flvwalk.Tag, error)) {
	t.Helper()
	if _, err := to.Write(flvclip.File[:13]); err != nil {
		t.Fatal(err)
	}
	walk := flvwalk.New(from)
	packets := map[byte]int{}
	for i := 0; ; i++ {
		tag, err := pass(from, walk, to)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if tag.Type == flvwalk.Script || tag.Data[1] == 1 { // the rest are settings
			packets[tag.Type]++
		}
		if i%10 == 0 {
			if err := to.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := to.Flush(); err != nil {
		t.Fatal(err)
	}
	if packets[flvwalk.Script] != 1 || packets[flvwalk.Video] != 300 || packets[flvwalk.Audio] != 432 {
		t.Errorf("%v packets by type", packets)
	}
	if n := from.TotalRead(); n != int64(len(flvclip.File)) {
		t.Errorf("%d bytes were read", n)
	}
	from.Recycle()
	to.Recycle()
}

// TestFLVIsHeldByThreeAtOnce keeps the tags of a while, as a relay with viewers
// does, and compares what each of them then has.
func TestFLVIsHeldByThreeAtOnce(t *testing.T) {
	a := paranoid(t)
	near, far := tcpPair(t)
	send(t, far, flvclip.File, every(20_000))
	walk := flvwalk.New(readerOf(t, a, 0, near))
	var viewers [3][]mem.Buf
	for {
		_, b, err := walk.NextBuf()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var one [3]mem.Buf
		b.Share(one[:])
		b.Release()
		for i := range viewers {
			viewers[i] = append(viewers[i], one[i])
		}
	}
	for i := range viewers {
		got := bytes.Clone(flvclip.File[:13])
		for k := range viewers[i] {
			got = append(got, viewers[i][k].Bytes()...)
			viewers[i][k].Release()
		}
		if !bytes.Equal(got, flvclip.File) {
			t.Errorf("viewer %d has other bytes", i)
		}
	}
}

// writeNumber writes the n low bytes of v, the highest first.
func writeNumber(to *sluice.BufWriter, v uint32, n int) error {
	for i := n - 1; i >= 0; i-- {
		if err := to.WriteByte(byte(v >> (8 * i))); err != nil {
			return err
		}
	}
	return nil
}
