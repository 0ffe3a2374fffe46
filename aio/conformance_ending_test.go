package aio_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"time"
)

func init() {
	suite = append(suite,
		behaviour{name: "the end of the stream comes after the data, and again", run: endAfterData, on: everyConn, everyCut: true},
		behaviour{name: "the end in the middle of ReadFull", run: endInReadFull, on: everyConn},
		behaviour{name: "an end that comes with the data", run: endWithData, on: everyConn},
		behaviour{name: "an end that comes after a short read", run: endAfterShortRead, on: everyConn},
		behaviour{name: "an end that is there before the first read", run: endBeforeRead},
		behaviour{name: "writing after the peer has closed its half", run: writeAfterHalfClose, on: append(streams, "tls")},
		behaviour{name: "a peer that closes ends what is in flight", run: peerCloses, on: append(streams, "pipe")},
		behaviour{name: "a peer that closes without reading is an error", run: peerClosesUnread},
	)
}

// closeHalf ends the stream from far to near only.
func (f *fixture) closeHalf(far net.Conn) {
	f.Helper()
	if err := far.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		f.Fatal(err)
	}
}

func endAfterData(f *fixture) {
	near, far := f.pair()
	data := f.bytes(f.enough())
	f.background("the peer sends and closes", func() error {
		return errors.Join(sendPieces(far, f.cut, data), far.Close())
	})
	// No read asks for more than is left, so that none of them sees the end.
	got := f.collect(len(data), func(left int) *op { return f.anyRead(near, left) })
	if !bytes.Equal(got, data) {
		f.Error("what was read is not what was sent")
	}
	ends := []*op{
		f.read(near, 10), f.read(near, 10), f.readNil(near),
		f.readFull(near, 10, time.Time{}), f.readBuf(near, 0, time.Time{}),
	}
	f.wait(ends...)
	ends = append(ends, f.read(near, 10))
	f.wait(ends...)
	for _, o := range ends {
		if f.wantError(o, io.EOF); o.res.Size != 0 {
			f.Errorf("%v at the end: %d bytes", o, o.res.Size)
		}
	}
}

func endInReadFull(f *fixture) {
	near, far := f.pair()
	data := f.bytes(1000)
	f.background("the peer sends and closes", func() error {
		return errors.Join(sendPieces(far, f.cut, data), far.Close())
	})
	o := f.readFull(near, 1001, time.Time{})
	f.wait(o)
	if f.wantError(o, io.EOF); !bytes.Equal(o.bytes(), data) {
		f.Errorf("ReadFull came back with %d bytes of the 1000 before the end", o.res.Size)
	}
}

// endWithData is a trap for who waits for edges: the bytes and the end make one.
// Buffers that are just filled, and larger ones, take different ways.
func endWithData(f *fixture) {
	for i := range 60 {
		near, far := f.pair()
		data := f.bytes(100)
		size := []int{100, 101, 4096}[i%3]
		first := f.read(near, size)
		var second *op
		if i%2 == 0 {
			second = f.read(near, size)
		}
		f.park()
		f.background("the peer sends and closes", func() error {
			_, err := far.Write(data)
			return errors.Join(err, far.Close())
		})
		f.wait(first)
		if f.wantError(first, nil); !bytes.Equal(first.bytes(), data) {
			f.Fatalf("%d bytes of 100 came before the end", first.res.Size)
		}
		if second == nil {
			second = f.read(near, size)
		}
		f.wait(second)
		f.wantError(second, io.EOF)
		f.free(near)
	}
}

// endAfterShortRead lets the end come when the read that left room in its buffer
// has returned, and the next one is there or is not.
func endAfterShortRead(f *fixture) {
	for i := range 20 {
		near, far := f.pair()
		data := f.bytes(100)
		first := f.read(near, 4096)
		f.send(far, data)
		f.wait(first)
		got := first.bytes()
		got = append(got, f.collect(100-len(got), func(int) *op { return f.read(near, 4096) })...)
		if !bytes.Equal(got, data) {
			f.Fatal("what was read is not what was sent")
		}
		var second *op
		if i%2 == 0 {
			second = f.read(near, 10)
			f.park()
		}
		if err := far.Close(); err != nil {
			f.Fatal(err)
		}
		if second == nil {
			second = f.read(near, 10)
		}
		f.wait(second)
		f.wantError(second, io.EOF)
		f.free(near)
	}
}

func endBeforeRead(f *fixture) {
	near, far := f.pair()
	data := f.bytes(100)
	f.sendAll(far, data)
	if err := far.Close(); err != nil {
		f.Fatal(err)
	}
	got := f.collect(100, func(left int) *op { return f.read(near, 4096) })
	if !bytes.Equal(got, data) {
		f.Error("what was read is not what was sent")
	}
	o := f.readNil(near)
	f.wait(o)
	f.wantError(o, io.EOF)
}

func writeAfterHalfClose(f *fixture) {
	near, far := f.narrowPair()
	o := f.read(near, 10)
	f.park()
	f.closeHalf(far)
	f.wait(o)
	f.wantError(o, io.EOF)
	for range 3 {
		data := f.bytes(tooMuch / 4)
		received := f.receive(far, data)
		w := f.anyWrite(near, data)
		again := f.read(near, 10)
		f.wait(w, again)
		<-received
		f.wantError(w, nil)
		f.wantError(again, io.EOF)
	}
}

// peerCloses has reads and writes in flight when the peer goes away.
func peerCloses(f *fixture) {
	near, far := f.narrowPair()
	var reads, writes []*op
	for range 5 {
		reads = append(reads, f.anyRead(near, 10))
		writes = append(writes, f.anyWrite(near, f.bytes(tooMuch/4)))
	}
	f.park()
	if err := far.Close(); err != nil {
		f.Fatal(err)
	}
	f.wait(append(reads, writes...)...)
	for i, o := range reads {
		// The peer had bytes that it did not read: that resets what they came on.
		if f.wantError(o, append(resets, io.EOF)...); o.res.Size != 0 {
			f.Errorf("read %d came back with %d bytes", i, o.res.Size)
		}
	}
	if f.wantError(writes[4], resets...); writes[4].res.Size != 0 && f.network != "pipe" {
		f.Errorf("the last write came back with %d bytes", writes[4].res.Size)
	}
	// What is submitted later fails too, and does not hang.
	o := f.write(near, f.bytes(10))
	f.wait(o)
	f.wantError(o, resets...)
}

// peerClosesUnread loses bytes, which must not look like a good end.
func peerClosesUnread(f *fixture) {
	near, far := f.pair()
	w := f.write(near, f.bytes(100))
	f.wait(w)
	f.wantError(w, nil)
	o := f.read(near, 10)
	f.park()
	if _, err := io.ReadFull(far, make([]byte, 10)); err != nil {
		f.Fatal(err)
	}
	if err := far.Close(); err != nil {
		f.Fatal(err)
	}
	f.wait(o)
	f.wantError(o, resets...)
}
