package transport

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
)

// Reasons why a request has no answer.
var (
	ErrNoAnswer = errors.New("transport: the node does not answer")
	ErrTooBusy  = errors.New("transport: the node answers too many requests")
	ErrTooLarge = errors.New("transport: the answer is too large")
)

const (
	// partSize is how many bytes of an answer are in one message. All parts of one are
	// fewer than what may overtake a message: see window.
	partSize  = 512 << 10
	maxAnswer = 16 << 20
	// answerHead is the number of the request, of the part, and of all parts. Without
	// parts the code follows why there is no answer.
	answerHead = 8 + 2 + 2
)

// codes are what stands in an answer without parts.
var codes = map[byte]error{1: ErrTooBusy, 2: ErrTooLarge}

// Request sends body, borrowed, to a node and returns what that answers, at most 16 MB.
// It waits until ctx is done. An error matches ErrNoAnswer, ErrTooBusy or ErrTooLarge.
func (t *Transport) Request(ctx context.Context, node string, body []byte) ([]byte, error) {
	r := &t.requests
	w := &waiting{node: node, done: make(chan struct{})}
	r.mu.Lock()
	r.last++
	id := r.last
	r.waiting[id] = w
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.waiting, id)
		r.mu.Unlock()
	}()
	if err := t.transmit("ask", node, append(binary.BigEndian.AppendUint64(nil, id), body...)); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrNoAnswer, node, err)
	}
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %s: %w", ErrNoAnswer, node, context.Cause(ctx))
	case <-w.done:
	}
	if w.err != nil {
		return nil, fmt.Errorf("%w: %s", w.err, node)
	}
	var answer []byte
	for _, p := range w.parts {
		answer = append(answer, p...)
	}
	return answer, nil
}

// transmit sends a message of this file. What it is for is under its code, so that a
// request cannot come back as an answer.
func (t *Transport) transmit(what, to string, body []byte) error {
	m := t.requests.sealer.seal(what+"."+to, body, t.options.Clock())
	if len(m) > maxPayload {
		return fmt.Errorf("transport: a request of %d bytes, the limit is %d", len(m), maxPayload)
	}
	return t.outbox.put(outgoing{subject: t.options.Prefix + "." + what + "." + to, data: m})
}

// unseal checks a message of this file.
func (t *Transport) unseal(what string, data []byte) (from string, body []byte, ok bool) {
	from, body, err := t.requests.opener.open(what+"."+t.options.Node, data, t.options.Clock())
	if err != nil {
		t.refuse(err)
		return "", nil, false
	}
	t.received.Add(int64(len(data)))
	return from, body, true
}

// asked answers a request of another node, on a goroutine of its own.
func (t *Transport) asked(data []byte) {
	from, body, ok := t.unseal("ask", data)
	if !ok || len(body) < 8 {
		return
	}
	r := &t.requests
	id := binary.BigEndian.Uint64(body)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || t.options.Answer == nil {
		return
	}
	select {
	case r.slots <- struct{}{}:
	default:
		t.fail(from, id, 1)
		return
	}
	body = append([]byte(nil), body[8:]...)
	r.ending.Go(func() {
		defer func() { <-r.slots }()
		t.respond(from, id, t.options.Answer(from, body))
	})
}

func (t *Transport) respond(to string, id uint64, answer []byte) {
	if len(answer) > maxAnswer {
		t.fail(to, id, 2)
		return
	}
	parts := max((len(answer)+partSize-1)/partSize, 1)
	for i := range parts {
		m := binary.BigEndian.AppendUint64(nil, id)
		m = binary.BigEndian.AppendUint16(m, uint16(i))
		m = binary.BigEndian.AppendUint16(m, uint16(parts))
		m = append(m, answer[i*partSize:min((i+1)*partSize, len(answer))]...)
		if err := t.transmit("answer", to, m); err != nil {
			t.options.Logger.Debug("cannot answer a node of the cluster", "node", to, "error", err)
			return
		}
	}
}

// fail says that there is no answer.
func (t *Transport) fail(to string, id uint64, code byte) {
	m := append(binary.BigEndian.AppendUint64(nil, id), 0, 0, 0, 0, code)
	if err := t.transmit("answer", to, m); err != nil {
		t.options.Logger.Debug("cannot answer a node of the cluster", "node", to, "error", err)
	}
}

// answered takes a part of an answer.
func (t *Transport) answered(data []byte) {
	from, body, ok := t.unseal("answer", data)
	if !ok || len(body) < answerHead {
		return
	}
	id, part, parts := binary.BigEndian.Uint64(body), int(binary.BigEndian.Uint16(body[8:])), int(binary.BigEndian.Uint16(body[10:]))
	body = body[answerHead:]
	r := &t.requests
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.waiting[id]
	if w == nil || w.node != from || w.err != nil {
		return
	}
	switch {
	case parts == 0 && len(body) == 1 && codes[body[0]] != nil:
		w.err = codes[body[0]]
		close(w.done)
		return
	case parts == 0 || parts*partSize > maxAnswer || part >= parts || len(body) > partSize:
		return
	case w.parts == nil:
		w.parts, w.left = make([][]byte, parts), parts
	}
	if len(w.parts) != parts || w.parts[part] != nil || w.left == 0 {
		return
	}
	w.parts[part] = append([]byte{}, body...)
	if w.left--; w.left == 0 {
		close(w.done)
	}
}
