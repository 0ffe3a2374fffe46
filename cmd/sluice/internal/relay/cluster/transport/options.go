package transport

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Options configure a Transport. Node, Run, Secret and Receive are required, and
// either Listen or URL.
type Options struct {
	Node   string
	Run    uint64 // larger than that of the node's earlier starts
	Secret []byte
	// Accept is another secret with which others may come, while theirs and this one's are
	// changed; nil for none.
	Accept []byte
	// Listen is the address for other nodes of the server in this process, and Join
	// those of others: one that lives is enough.
	Listen string
	Join   []string
	// URL is the address of NATS servers that are there already, with commas between
	// several; then there is none in this process.
	URL string
	TLS *tls.Config // of the connections to URL; nil is what the system trusts
	// Prefix is the first part of the subjects; "sluice".
	Prefix string
	// Receive is called with each message from another node, one at a time. The body
	// is borrowed until it returns.
	Receive func(from string, body []byte)
	// Answer is called with the request of another node, several at a time, and returns
	// the answer, transferred. Both are the callee's. Without it there are no answers.
	Answer func(from string, body []byte) []byte
	Logger *slog.Logger // nil is slog.Default
	// Clock is for tests of clocks that differ; nil is time.Now.
	Clock func() time.Time
}

// keys returns the keys for one purpose: that of Secret, and that of Accept if there is one.
func (o *Options) keys(purpose string) [][]byte {
	keys := [][]byte{derive(o.Secret, purpose)}
	if len(o.Accept) > 0 {
		keys = append(keys, derive(o.Accept, purpose))
	}
	return keys
}

// maxPayload is the longest message.
const maxPayload = 1 << 20

// ErrName: a node's name that cannot be a part of a subject.
var ErrName = errors.New("transport: a node's name has 1 to 64 letters, digits, - and _")

// maxNode is the longest name of a node: the length is one byte.
const maxNode = 64

// CheckName returns an error that matches ErrName if a node cannot have this name.
func CheckName(name string) error {
	ok := name != "" && len(name) <= maxNode && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	})
	if !ok {
		return fmt.Errorf("%w: %.80q", ErrName, name)
	}
	return nil
}
