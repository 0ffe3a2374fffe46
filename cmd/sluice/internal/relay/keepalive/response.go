package keepalive

import (
	"bufio"
	"io"
	"net/http"
	"strconv"
	"time"
)

const (
	// unknown is the length of an answer that has declared none: it is held until its end.
	unknown = -1
	// endless is that of one which ends with its connection.
	endless = -2
	// mostHeld is how many bytes of an answer of unknown length are held.
	mostHeld = 16 << 10
)

// A response is an http.ResponseWriter. http.ResponseController sets its deadlines.
type response struct {
	conn    *conn
	request *http.Request
	header  http.Header
	out     *bufio.Writer // from the head on
	status  int           // 0: not known yet
	length  int64         // of the body, or unknown, or endless
	sent    int64
	held    []byte
	last    bool // the connection is closed behind it
	err     error
}

func (w *response) Header() http.Header { return w.header }

func (w *response) SetReadDeadline(t time.Time) error  { return w.conn.conn.SetReadDeadline(t) }
func (w *response) SetWriteDeadline(t time.Time) error { return w.conn.conn.SetWriteDeadline(t) }

// bodiless reports whether the answer has no body, whatever the handler writes.
func (w *response) bodiless() bool {
	return w.request.Method == http.MethodHead || w.status == http.StatusNoContent || w.status == http.StatusNotModified
}

// WriteHeader sets the status, once. Informational ones are not sent.
func (w *response) WriteHeader(status int) {
	if w.status != 0 || status < 200 {
		return
	}
	w.status = status
	if text := w.header.Get("Content-Length"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			w.header.Del("Content-Length")
		} else {
			w.length = n
		}
	}
	if status == http.StatusNoContent || status == http.StatusNotModified {
		w.header.Del("Content-Length")
	}
	if w.length == unknown && !w.bodiless() {
		w.header = w.header.Clone() // what the handler sets from now on is too late
		return
	}
	w.writeHead()
}

// writeHead writes everything before the body.
func (w *response) writeHead() {
	s := w.conn.server
	w.out = s.outs.get()
	w.out.Reset(w.conn.conn)
	if w.header.Get("Connection") == "" && (w.length == endless || s.isClosing()) {
		w.header.Set("Connection", "close")
	}
	w.last = w.header.Get("Connection") != ""
	if _, ok := w.header["Date"]; !ok {
		w.header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	}
	w.out.WriteString("HTTP/1.1 ")
	w.out.WriteString(strconv.Itoa(w.status))
	w.out.WriteByte(' ')
	w.out.WriteString(http.StatusText(w.status))
	w.out.WriteString("\r\n")
	w.header.Write(w.out) // without line ends in values
	_, w.err = w.out.WriteString("\r\n")
}

// admit prepares a write of n bytes. It returns false when they are not sent, with the
// error, or held.
func (w *response) admit(n int) (send, hold bool, err error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	switch {
	case w.request.Method == http.MethodHead:
		return false, false, nil
	case w.bodiless():
		return false, false, http.ErrBodyNotAllowed
	case w.length == unknown && len(w.held)+n <= mostHeld:
		return false, true, nil
	case w.length == unknown:
		w.length = endless
		w.writeHead()
		w.out.Write(w.held) // an error comes again below
		w.held = nil
	case w.length >= 0 && w.sent+int64(n) > w.length:
		return false, false, http.ErrContentLength
	}
	return true, false, nil
}

func (w *response) Write(p []byte) (int, error) {
	send, hold, err := w.admit(len(p))
	if hold {
		w.held = append(w.held, p...)
	}
	if err != nil {
		return 0, err
	}
	if !send {
		return len(p), nil
	}
	n, err := w.out.Write(p)
	return n, w.wrote(n, err)
}

// WriteString spares a copy of text.
func (w *response) WriteString(text string) (int, error) {
	send, hold, err := w.admit(len(text))
	if hold {
		w.held = append(w.held, text...)
	}
	if err != nil {
		return 0, err
	}
	if !send {
		return len(text), nil
	}
	n, err := io.WriteString(w.out, text)
	return n, w.wrote(n, err)
}

func (w *response) wrote(n int, err error) error {
	w.sent += int64(n)
	if err != nil {
		w.err = err
	}
	return err
}

// finish sends what is left of the answer. It returns whether the connection can have
// another one.
func (w *response) finish() bool {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.out == nil {
		w.length = int64(len(w.held))
		w.header.Set("Content-Length", strconv.Itoa(len(w.held)))
		w.writeHead()
		n, err := w.out.Write(w.held)
		w.wrote(n, err)
	}
	if err := w.out.Flush(); err != nil {
		w.err = err
	}
	return w.err == nil && !w.last && (w.bodiless() || w.sent == w.length)
}

// release gives the buffer back.
func (w *response) release() {
	if w.out != nil {
		w.out.Reset(nil)
		w.conn.server.outs.put(w.out)
		w.out = nil
	}
}
