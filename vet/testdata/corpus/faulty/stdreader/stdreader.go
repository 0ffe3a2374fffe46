// Package stdreader misuses what a bufio.Reader lends.
package stdreader

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
)

type request struct {
	method, path, version []byte
	headers               map[string][]byte
	body                  []byte
}

type conn struct {
	net.Conn
	br   *bufio.Reader
	name []byte
	last []byte
}

// The method is looked at after the path was read.
func twoWords(br *bufio.Reader) (bool, error) {
	method, err := br.ReadSlice(' ')
	if err != nil {
		return false, err
	}
	path, err := br.ReadSlice(' ')
	if err != nil {
		return false, err
	}
	return bytes.Equal(method, []byte("GET ")) && len(path) > 1, nil // want `used after Reader.ReadSlice`
}

// The header is parsed after the body has come.
func headThenBody(br *bufio.Reader, body []byte) (uint32, error) {
	head, err := br.Peek(8)
	if err != nil {
		return 0, err
	}
	if _, err := io.ReadFull(br, body); err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint32(head[4:]), nil // want `used after io.ReadFull`
}

func parseRequestLine(br *bufio.Reader) (*request, error) {
	line, err := br.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	var req request
	req.method, line, _ = bytes.Cut(line, []byte(" "))
	req.path, req.version, _ = bytes.Cut(line, []byte(" "))
	for {
		field, err := br.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		if len(field) <= 2 {
			break
		}
	}
	if string(req.method) == "CONNECT" { // want `used after Reader.ReadSlice`
		return nil, errors.New("no proxy")
	}
	return &req, nil // want `returned after Reader.ReadSlice`
}

// The loop keeps the line before to join a continuation to it.
func continued(br *bufio.Reader) (n int, err error) {
	var before []byte
	for {
		line, err := br.ReadSlice('\n')
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		if line[0] == '\t' && len(before) > 0 && before[0] == 'X' { // want `used after Reader.ReadSlice`
			n++
		}
		before = line
	}
}

func (c *conn) login() error {
	line, _, err := c.br.ReadLine()
	if err != nil {
		return err
	}
	c.name = line // want `stored in the field name`
	fmt.Fprintf(c, "hello\r\n")
	return nil
}

func (c *conn) remember() error {
	p, err := c.br.Peek(16)
	if err != nil {
		return err
	}
	c.last = p[4:12] // want `stored in the field last`
	_, err = c.br.Discard(16)
	return err
}

func readHeaders(br *bufio.Reader) (map[string][]byte, error) {
	headers := make(map[string][]byte)
	for {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			return headers, nil // want `returned after Reader.ReadSlice`
		}
		key, value, _ := bytes.Cut(line, []byte(": "))
		headers[string(key)] = value
	}
}

func (r *request) header(br *bufio.Reader) error {
	line, err := br.ReadSlice('\n')
	if err != nil {
		return err
	}
	k, v, ok := bytes.Cut(line, []byte{':'})
	if !ok {
		return errors.New("no colon")
	}
	r.headers[string(k)] = bytes.TrimSpace(v) // want `stored in a map`
	return nil
}

func allLines(r io.Reader) ([][]byte, error) {
	br := bufio.NewReader(r)
	var lines [][]byte
	for {
		line, err := br.ReadSlice('\n')
		if err == io.EOF {
			return lines, nil // want `returned after Reader.ReadSlice`
		}
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
}

func serve(br *bufio.Reader, lines chan<- []byte) error {
	for {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return err
		}
		lines <- bytes.TrimSpace(line) // want `stored in a channel`
	}
}

func handleEach(br *bufio.Reader, handle func([]byte)) error {
	for {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return err
		}
		go handle(line) // want `stored in a goroutine`
	}
}

func logEach(br *bufio.Reader, out *net.TCPConn) error {
	for {
		line, isPrefix, err := br.ReadLine()
		if err != nil {
			return err
		}
		if isPrefix {
			continue
		}
		go func() { // want `stored in a goroutine`
			out.Write(line)
		}()
	}
}

// The goroutines are waited for, but only after all lines were read.
func waitedTooLate(br *bufio.Reader, out *net.TCPConn) (err error) {
	var all sync.WaitGroup
	defer all.Wait()
	for {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return err
		}
		all.Go(func() { // want `runs later`
			out.Write(line)
		})
	}
}

var lastCommand []byte

func command(br *bufio.Reader) error {
	line, err := br.ReadSlice('\n')
	if err != nil {
		return err
	}
	lastCommand = line[:4] // want `stored in the global lastCommand`
	return nil
}

// A bulk string of RESP: the digits are used after the bytes behind them.
func bulk(br *bufio.Reader) ([]byte, error) {
	digits, err := br.ReadSlice('\r')
	if err != nil {
		return nil, err
	}
	if _, err := br.ReadByte(); err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(string(digits[1 : len(digits)-1])) // want `used after Reader.ReadByte`
	if err != nil {
		return nil, err
	}
	p := make([]byte, n)
	_, err = io.ReadFull(br, p)
	return p, err
}

// The error names the line, which is gone by then.
func skipBlank(br *bufio.Reader) error {
	line, err := br.ReadSlice('\n')
	if err != nil {
		return err
	}
	next, err := br.ReadString('\n')
	if err != nil {
		return fmt.Errorf("after %q: %w", line, err) // want `used after Reader.ReadString`
	}
	if next != "\r\n" {
		return errors.New("not blank")
	}
	return nil
}

func magic(br *bufio.Reader) (string, error) {
	m, err := br.Peek(4)
	if err != nil {
		return "", err
	}
	var version [2]byte
	if _, err := br.Read(version[:]); err != nil {
		return "", err
	}
	switch string(m) { // want `used after Reader.Read`
	case "RIFF":
		return "wave", nil
	case "OggS":
		return "ogg", nil
	}
	return "", errors.New("unknown magic")
}

// A Reset ends what was lent as well.
func reuse(br *bufio.Reader, next io.Reader) (byte, error) {
	p, err := br.Peek(2)
	if err != nil {
		return 0, err
	}
	br.Reset(next)
	return p[1], nil // want `used after Reader.Reset`
}

func firstOf(br *bufio.Reader, n int) (first []byte, err error) {
	for i := 0; i < n; i++ {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		if i == 0 {
			first = line
		}
	}
	return first, nil // want `returned after Reader.ReadSlice`
}

type message struct {
	topic, payload []byte
}

func readMessage(br *bufio.Reader) (message, error) {
	var m message
	var err error
	if m.topic, err = br.ReadSlice(0); err != nil {
		return m, err
	}
	if m.payload, err = br.ReadSlice(0); err != nil {
		return m, err
	}
	return m, nil // want `returned after Reader.ReadSlice`
}

// The peeked bytes are passed on after a line was read.
func sniff(c *conn) error {
	p, err := c.br.Peek(3)
	if err != nil && err != io.EOF {
		return err
	}
	if _, err := c.br.ReadBytes('\n'); err != nil {
		return err
	}
	if bytes.HasPrefix(p, []byte{0x16, 0x03}) { // want `used after Reader.ReadBytes`
		return errors.New("TLS on a plain port")
	}
	return nil
}
