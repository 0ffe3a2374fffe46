package sluice_test

import (
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/flvclip"
)

// flvTag is one tag of an FLV stream. Its payload is borrowed until the next
// call on the reader.
type flvTag struct {
	Type    byte
	Time    uint32 // ms
	Payload []byte
}

// readFLVHeader reads the 9 bytes of the file's header and the 4 bytes that
// have the size of the tag before the first: none.
func readFLVHeader(r *sluice.BufReader) error {
	h, err := r.Next(9 + 4)
	if err != nil {
		return err
	}
	if string(h[:3]) != "FLV" {
		return errors.New("not FLV")
	}
	return nil
}

func readFLVTag(r *sluice.BufReader) (flvTag, error) {
	kind, err := r.ReadByte()
	if err != nil {
		return flvTag{}, err // io.EOF: the stream ends between tags
	}
	size, err := r.ReadBE(3)
	if err != nil {
		return flvTag{}, err
	}
	low, err := r.ReadBE32(3)
	if err != nil {
		return flvTag{}, err
	}
	high, err := r.ReadByte() // the extension goes on top of the low 24 bits
	if err != nil {
		return flvTag{}, err
	}
	if err := r.Skip(3); err != nil { // the stream's number, always 0
		return flvTag{}, err
	}
	// The payload and the 4 bytes behind it that have the size of the tag.
	p, err := r.Next(size + 4)
	if err != nil {
		return flvTag{}, err
	}
	return flvTag{kind, uint32(high)<<24 | low, p[:size]}, nil
}

// An FLV stream over a connection, tag by tag, without copying a payload.
func Example_flv() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = l.Close() }()
	go func() {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = conn.Write(flvclip.File)
	}()

	conn, err := l.Accept()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = conn.Close() }()
	r := sluice.NewBufReader(conn)
	defer r.Recycle()
	if err := readFLVHeader(r); err != nil {
		fmt.Println(err)
		return
	}
	packets := map[byte]int{}
	for {
		tag, err := readFLVTag(r)
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		// For H.264 and AAC the second byte is 1 for packets, 0 for settings.
		if tag.Type == 18 || tag.Payload[1] == 1 {
			packets[tag.Type]++
		}
	}
	fmt.Println("video:", packets[9], "audio:", packets[8], "script:", packets[18])
	// Output: video: 300 audio: 432 script: 1
}
