package realtest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"hash/crc32"
	"io"
	"net"
	"os"
	"strconv"
)

// loopback returns the two ends of a TCP connection.
func loopback() (near, far *net.TCPConn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	defer l.Close()
	dialled, err := net.Dial("tcp", l.Addr().String())
	must(err)
	accepted, err := l.Accept() // the dial has succeeded, so that one waits
	must(err)
	return dialled.(*net.TCPConn), accepted.(*net.TCPConn)
}

// temporary returns a file that has no name any more.
func temporary() *os.File {
	file, err := os.CreateTemp("", "faulty-")
	must(err)
	must(os.Remove(file.Name()))
	return file
}

func smallWrites(mended bool) {
	near, far := loopback()
	go func() {
		_, err := io.Copy(io.Discard, struct{ io.Reader }{far})
		must(err)
	}()
	var out io.Writer = near
	if mended {
		out = bufio.NewWriterSize(near, 64<<10)
	}
	event := make([]byte, 64)
	for i := uint64(0); ; i++ {
		sendEvent(out, event, i)
	}
}

func sendEvent(w io.Writer, event []byte, number uint64) {
	for at := 0; at < len(event); at += 8 {
		binary.BigEndian.PutUint64(event[at:], number*uint64(at+1))
	}
	_, err := w.Write(event)
	must(err)
}

// feed writes to a connection as fast as it can.
func feed(conn net.Conn, block []byte) {
	for {
		_, err := conn.Write(block)
		must(err)
	}
}

func smallReads(mended bool) {
	near, far := loopback()
	message := binary.BigEndian.AppendUint32(nil, 24)
	go feed(far, bytes.Repeat(append(message, make([]byte, 24)...), 2000))
	var in io.Reader = near
	if mended {
		in = bufio.NewReaderSize(near, 64<<10)
	}
	field := make([]byte, 8)
	for {
		readMessage(in, field)
	}
}

func readMessage(r io.Reader, field []byte) {
	_, err := io.ReadFull(r, field[:4])
	must(err)
	for range binary.BigEndian.Uint32(field) / 8 {
		_, err := io.ReadFull(r, field)
		must(err)
	}
}

func smallBuffer(mended bool) {
	near, far := loopback()
	go feed(far, make([]byte, 256<<10))
	buf := make([]byte, 4<<10)
	if mended {
		buf = make([]byte, 256<<10)
	}
	for {
		checksum(near, buf)
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(r io.Reader, buf []byte) uint32 {
	n, err := r.Read(buf)
	must(err)
	return crc32.Checksum(buf[:n], castagnoli)
}

func smallFlushes(mended bool) {
	out := bufio.NewWriterSize(io.Discard, 64<<10)
	zip := gzip.NewWriter(out)
	var line []byte
	for i := 0; ; i++ {
		line = append(line[:0], `10.0.0.1 - - "GET /live/room-`...)
		line = strconv.AppendInt(line, int64(i*104729%9973), 10)
		line = append(line, `/segment.ts HTTP/1.1" 200 `...)
		line = append(strconv.AppendInt(line, int64(i*7919%120_000), 10), '\n')
		_, err := zip.Write(line)
		must(err)
		if !mended || i%1000 == 999 {
			logLine(zip, out)
		}
	}
}

func logLine(zip *gzip.Writer, out *bufio.Writer) {
	must(zip.Flush())
	must(out.Flush())
}

func fsyncPerRecord(mended bool) {
	file := temporary()
	record := make([]byte, 200)
	if mended {
		record = make([]byte, 1<<20)
	}
	for at := int64(0); ; at = (at + int64(len(record))) % (64 << 20) {
		storeRecord(file, record, at)
	}
}

func storeRecord(file *os.File, record []byte, at int64) {
	_, err := file.WriteAt(record, at)
	must(err)
	must(file.Sync())
}

func dialPerQuestion(mended bool) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	go func() {
		for {
			conn, err := l.Accept()
			must(err)
			go func() {
				defer conn.Close()
				_, _ = io.Copy(struct{ io.Writer }{conn}, struct{ io.Reader }{conn}) // until the peer ends it
			}()
		}
	}()
	question := make([]byte, 64)
	if mended {
		conn, err := net.Dial("tcp", l.Addr().String())
		must(err)
		for {
			askOver(conn, question)
		}
	}
	for {
		askAnew(l.Addr().String(), question)
	}
}

func askAnew(addr string, question []byte) {
	conn, err := net.Dial("tcp", addr)
	must(err)
	askOver(conn, question)
	must(conn.Close())
}

func askOver(conn net.Conn, question []byte) {
	_, err := conn.Write(question)
	must(err)
	_, err = io.ReadFull(conn, question)
	must(err)
}

func settingsPerRequest(mended bool) {
	file := temporary()
	defer file.Close() // it is used until then
	_, err := file.WriteString("limit=7 name=x")
	must(err)
	path := "/proc/self/fd/" + strconv.Itoa(int(file.Fd())) // it has no name
	settings := readSettings(path)
	for {
		if !mended {
			settings = readSettings(path)
		}
		crc32.Checksum(settings, castagnoli)
	}
}

func readSettings(path string) []byte {
	file, err := os.Open(path)
	must(err)
	defer file.Close()
	text := make([]byte, 100)
	n, err := file.Read(text)
	must(err)
	return text[:n]
}
