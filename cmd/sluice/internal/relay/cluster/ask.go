package cluster

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// ErrAnswer: what a node answered cannot be read.
var ErrAnswer = errors.New("cluster: bad answer")

// maxText is the longest body of an answer, in bytes; it is sent compressed.
const maxText = 32 << 20

// A Request is what one node asks another for: something of its API.
type Request struct {
	Method string `json:"m"`
	Target string `json:"t"` // path and query
	For    string `json:"f"` // address of the client, for the log
	Body   []byte `json:"b,omitempty"`
}

// An Answer is an HTTP status and a body.
type Answer struct {
	Status int
	Body   []byte
}

// Ask asks another node, and waits until ctx is done. The caller has checked what its
// client may do: the other node does not ask again. An error matches ErrAnswer, or one
// of package transport's.
func (n *Node) Ask(ctx context.Context, node string, r Request) (Answer, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return Answer{}, fmt.Errorf("cluster: %w", err)
	}
	b, err := n.transport.Request(ctx, node, text)
	if err != nil {
		return Answer{}, err
	}
	return parseAnswer(b)
}

// answer answers a request of another node.
func (n *Node) answer(from string, body []byte) []byte {
	var r Request
	a := Answer{Status: http.StatusBadRequest}
	if err := json.Unmarshal(body, &r); err == nil && n.options.Answer != nil {
		a = n.options.Answer(from, r)
	}
	if len(a.Body) > maxText {
		a = Answer{Status: http.StatusInsufficientStorage}
	}
	return a.append(nil)
}

func (a Answer) append(b []byte) []byte {
	out := bytes.NewBuffer(binary.BigEndian.AppendUint16(b, uint16(a.Status)))
	z := gzip.NewWriter(out)
	z.Write(a.Body) // a Buffer has no errors
	z.Close()
	return out.Bytes()
}

func parseAnswer(b []byte) (Answer, error) {
	if len(b) < 2 {
		return Answer{}, fmt.Errorf("%w: %d bytes", ErrAnswer, len(b))
	}
	a := Answer{Status: int(binary.BigEndian.Uint16(b))}
	z, err := gzip.NewReader(bytes.NewReader(b[2:]))
	if err == nil {
		a.Body, err = io.ReadAll(io.LimitReader(z, maxText+1))
	}
	switch {
	case err != nil:
		return Answer{}, fmt.Errorf("%w: %w", ErrAnswer, err)
	case len(a.Body) > maxText:
		return Answer{}, fmt.Errorf("%w: longer than %d bytes", ErrAnswer, maxText)
	case a.Status < 100 || a.Status > 599:
		return Answer{}, fmt.Errorf("%w: status %d", ErrAnswer, a.Status)
	}
	return a, nil
}
