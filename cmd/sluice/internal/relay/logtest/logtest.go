// Package logtest keeps what tests have logged.
package logtest

import (
	"bytes"
	"sync"
)

// A Log keeps what several goroutines write, for reading meanwhile. The zero value is empty.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends p, borrowed until it returns.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns all that was written.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
