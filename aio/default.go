package aio

import (
	"net"
	"sync"
	"time"
)

// standard is the watcher of the functions below. It is made by the first call
// of one of them and never closed.
var standard = sync.OnceValues(NewWatcher)

// Read is Watcher.Read on the default watcher, which the first call makes.
func Read(ctx any, conn net.Conn, buf []byte) error {
	return ReadTimeout(ctx, conn, buf, time.Time{})
}

// ReadTimeout is Watcher.ReadTimeout on the default watcher.
func ReadTimeout(ctx any, conn net.Conn, buf []byte, deadline time.Time) error {
	w, err := standard()
	if err != nil {
		return err
	}
	return w.ReadTimeout(ctx, conn, buf, deadline)
}

// Write is Watcher.Write on the default watcher.
func Write(ctx any, conn net.Conn, buf []byte) error {
	return WriteTimeout(ctx, conn, buf, time.Time{})
}

// WriteTimeout is Watcher.WriteTimeout on the default watcher.
func WriteTimeout(ctx any, conn net.Conn, buf []byte, deadline time.Time) error {
	w, err := standard()
	if err != nil {
		return err
	}
	return w.WriteTimeout(ctx, conn, buf, deadline)
}

// Free is Watcher.Free on the default watcher.
func Free(conn net.Conn) error {
	w, err := standard()
	if err != nil {
		return err
	}
	return w.Free(conn)
}

// WaitIO is Watcher.WaitIO on the default watcher. As there is one default
// watcher for the whole program, there is one place in it that may call this.
func WaitIO() ([]OpResult, error) {
	w, err := standard()
	if err != nil {
		return nil, err
	}
	return w.WaitIO()
}
