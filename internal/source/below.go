package source

import (
	"errors"
	"io"
	"net"
	"os"
	"reflect"
	"syscall"
)

// below returns the descriptor of what r is built on, or the connection there
// that has none.
func below(r io.Reader) (syscall.RawConn, net.Conn) {
	var conn net.Conn
	for range 8 { // wrappers in wrappers
		c, ok := r.(net.Conn)
		if ok {
			conn = c
		}
		if f, ok := r.(*os.File); ok {
			raw, err := f.SyscallConn()
			if err != nil {
				return nil, nil
			}
			return fileConn{raw}, nil
		}
		if raw := descriptor(r); raw != nil {
			return raw, nil
		}
		if c = inside(r); c == nil {
			break
		}
		r = c
	}
	return nil, conn
}

func descriptor(r io.Reader) syscall.RawConn {
	var c syscall.Conn
	switch r := r.(type) {
	case syscall.Conn:
		c = r
	case RawReader:
		c = r.RawRead()
	}
	if c == nil { // as Descriptor, whose RawReader may have none
		return nil
	}
	if raw, err := c.SyscallConn(); err == nil {
		return raw
	}
	return nil
}

var connType = reflect.TypeFor[net.Conn]()

// inside returns the connection that r wraps: what NetConn returns, as of TLS, or an
// embedded one; else what is in the only field that is for a connection.
func inside(r io.Reader) (c net.Conn) {
	if w, ok := r.(interface{ NetConn() net.Conn }); ok {
		return w.NetConn()
	}
	v := reflect.Indirect(reflect.ValueOf(r))
	if v.Kind() != reflect.Struct {
		return nil
	}
	fields := 0
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous && f.IsExported() {
			if c, ok := v.Field(i).Interface().(net.Conn); ok {
				return c
			}
		}
		if f.Type.Implements(connType) {
			c = connIn(v.Field(i))
			fields++
		}
	}
	if fields != 1 { // r may read from any of them
		return nil
	}
	return c
}

// connIn returns the connection in a field, nil when there is none. In a field that is
// not exported it can be reached when it is a pointer. The goroutine that looks is the
// reader's, which else would be in r's own Read.
func connIn(f reflect.Value) net.Conn {
	if f.Kind() == reflect.Interface {
		f = f.Elem()
	}
	if f.Kind() == reflect.Pointer && !f.IsNil() && !f.CanInterface() {
		f = reflect.NewAt(f.Type().Elem(), f.UnsafePointer())
	}
	if !f.IsValid() || !f.CanInterface() || f.Kind() == reflect.Pointer && f.IsNil() {
		return nil
	}
	c, _ := f.Interface().(net.Conn)
	return c
}

// fileConn is a file's descriptor with the errors of the file's own Read.
type fileConn struct{ syscall.RawConn }

func (c fileConn) Read(f func(uintptr) bool) error {
	err := c.RawConn.Read(f)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return os.ErrClosed
	}
	return err
}
