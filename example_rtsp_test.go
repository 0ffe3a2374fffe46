package sluice_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/mem"
)

// rtspRequest is a request with what follows its first line (RFC 2326, section
// 6). Body is retained.
type rtspRequest struct {
	Method, URL string
	Header      textproto.MIMEHeader
	Body        mem.Buf
}

// mostRTSPBody is the largest body that this server takes.
const mostRTSPBody = 64 << 10

var errRTSP = errors.New("bad request")

func readRTSP(r *sluice.BufReader) (req rtspRequest, err error) {
	line, err := r.ReadLine()
	if err != nil {
		return req, err
	}
	var version string
	if n, _ := fmt.Sscanf(line, "%s %s %s", &req.Method, &req.URL, &version); n != 3 || version != "RTSP/1.0" {
		return req, fmt.Errorf("%w: %q", errRTSP, line)
	}
	if req.Header, err = r.ReadMIMEHeader(); err != nil {
		return req, err
	}
	length, err := contentLength(req.Header)
	if err != nil || length == 0 {
		return req, err
	}
	req.Body, err = r.ReadBuf(length)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return req, err
}

// contentLength refuses what is no number, negative, or more than there is
// memory for: all three can be in a header.
func contentLength(h textproto.MIMEHeader) (int, error) {
	text := h.Get("Content-Length")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n > mostRTSPBody {
		return 0, fmt.Errorf("%w: Content-Length %q, at most %d", errRTSP, text, mostRTSPBody)
	}
	return int(n), nil
}

// An RTSP server's side of a connection: requests with headers and bodies.
func Example_rtsp() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = l.Close() }()

	const sdp = "v=0\r\ns=camera\r\n"
	requests := "ANNOUNCE rtsp://host/live RTSP/1.0\r\nCSeq: 1\r\nContent-Type: application/sdp\r\n" +
		"Content-Length: " + strconv.Itoa(len(sdp)) + "\r\n\r\n" + sdp +
		"OPTIONS * RTSP/1.0\r\nCSeq: 2\r\nRequire: one,\r\n two\r\n\r\n"
	for _, evil := range []string{"-5", "99999999999999999999", "1000000000"} {
		requests += "ANNOUNCE rtsp://host/live RTSP/1.0\r\nContent-Length: " + evil + "\r\n\r\n"
	}
	go func() {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.Copy(conn, strings.NewReader(requests))
	}()

	conn, err := l.Accept()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = conn.Close() }()
	r := sluice.NewBufReader(conn)
	defer r.Recycle()
	for {
		req, err := readRTSP(r)
		if err == io.EOF {
			return
		}
		if errors.Is(err, errRTSP) {
			fmt.Println(err) // a real server answers 400 and closes
			continue
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s %s, CSeq %s, Require %q\n", req.Method, req.URL, req.Header.Get("CSeq"), req.Header.Get("Require"))
		if req.Body.Valid() {
			fmt.Printf("%q\n", req.Body.Bytes())
			req.Body.Release()
		}
	}
	// Output:
	// ANNOUNCE rtsp://host/live, CSeq 1, Require ""
	// "v=0\r\ns=camera\r\n"
	// OPTIONS *, CSeq 2, Require "one, two"
	// bad request: Content-Length "-5", at most 65536
	// bad request: Content-Length "99999999999999999999", at most 65536
	// bad request: Content-Length "1000000000", at most 65536
}
