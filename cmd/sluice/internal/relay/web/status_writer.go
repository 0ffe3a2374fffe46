package web

import (
	"io"
	"net/http"
)

// statusWriter remembers the status of an answer, for the log, and how much of its body was
// written.
type statusWriter struct {
	http.ResponseWriter
	status  int
	written int64
	failed  bool
}

func (s *statusWriter) Write(p []byte) (int, error) {
	n, err := s.ResponseWriter.Write(p)
	return n, s.wrote(int64(n), err)
}

func (s *statusWriter) wrote(n int64, err error) error {
	s.written += n
	s.failed = s.failed || err != nil
	return err
}

// Unwrap lets net/http's ResponseController reach the connection.
func (s *statusWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// ReadFrom lets the kernel send files.
func (s *statusWriter) ReadFrom(r io.Reader) (int64, error) {
	n, err := io.Copy(s.ResponseWriter, r)
	return n, s.wrote(n, err)
}

// WriteString spares net/http a copy.
func (s *statusWriter) WriteString(text string) (int, error) {
	n, err := io.WriteString(s.ResponseWriter, text)
	return n, s.wrote(int64(n), err)
}

func (s *statusWriter) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}
