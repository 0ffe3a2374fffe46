package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// doctorWithin is more than what that takes to look at a stream.
	doctorWithin = 10 * time.Second
	// maxMerged is how many bytes the answers of all nodes may have together.
	maxMerged = 64 << 20
	// nodeSelf is the value of ?node= for the node that was asked.
	nodeSelf = "self"
)

// Unanswered is a node that is left out of an answer.
type Unanswered struct {
	Node   string `json:"node"`
	Reason string `json:"reason"`
}

// answerBuffer is an answer that is kept.
type answerBuffer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func newAnswerBuffer() *answerBuffer {
	return &answerBuffer{header: http.Header{}, status: http.StatusOK}
}

func (a *answerBuffer) Header() http.Header         { return a.header }
func (a *answerBuffer) WriteHeader(status int)      { a.status = status }
func (a *answerBuffer) Write(p []byte) (int, error) { return a.body.Write(p) }

// nodeOf returns the other node that a request is for: the one in ?node=, or else the one
// given; empty for this one.
func (w *Server) nodeOf(r *http.Request, otherwise string) string {
	if w.Nodes == nil || ofNode(r) {
		return ""
	}
	switch name := cmp.Or(r.URL.Query().Get("node"), otherwise); name {
	case nodeSelf, w.Nodes.Name():
		return ""
	default:
		return name
	}
}

// targetOn is the target of a request for the node that gets it alone.
func targetOn(r *http.Request) string {
	q := r.URL.Query()
	q.Set("node", nodeSelf)
	u := url.URL{Path: r.URL.Path, RawQuery: q.Encode()}
	return u.RequestURI()
}

// pass answers with what another node says.
func (w *Server) pass(rw http.ResponseWriter, r *http.Request, node string) {
	if !slices.Contains(w.Nodes.Others(), node) {
		answerError(rw, http.StatusNotFound, fmt.Sprintf("there is no node %.80q", node))
		return
	}
	within := w.Times.Ask
	if strings.HasSuffix(r.URL.Path, "/doctor") {
		within = doctorWithin
	}
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	status, body, err := w.Nodes.Ask(ctx, node, r.Method, targetOn(r), r.RemoteAddr)
	if err != nil {
		w.Log.Warn("a node of the cluster does not answer", "node", node, "error", err)
		answerError(rw, http.StatusGatewayTimeout, "node "+node+" does not answer")
		return
	}
	h := rw.Header()
	if len(body) > 0 {
		h.Set("Content-Type", "application/json")
	}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	rw.WriteHeader(status)
	rw.Write(body)
}

// alone answers a request that is for one node, this one or another, and reports whether it
// was. get answers for this one.
func (w *Server) alone(rw http.ResponseWriter, r *http.Request, get http.HandlerFunc) bool {
	if w.Nodes != nil && !ofNode(r) && !r.URL.Query().Has("node") {
		return false
	}
	if node := w.nodeOf(r, ""); node != "" {
		w.pass(rw, r, node)
	} else {
		get(rw, r)
	}
	return true
}

// everywhere answers a request for lists with those of all nodes, unless it is for one.
// get answers for this one, with an object that has the lists under their names.
func (w *Server) everywhere(rw http.ResponseWriter, r *http.Request, get http.HandlerFunc, lists ...string) {
	if w.alone(rw, r, get) {
		return
	}
	own := newAnswerBuffer()
	get(own, r)
	if own.status != http.StatusOK {
		answerBytes(rw, own.status, own.body.Bytes())
		return
	}
	m, err := newMerging(lists, own.body.Bytes())
	if err != nil {
		answerError(rw, http.StatusInternalServerError, err.Error())
		return
	}
	for _, a := range w.askOthers(r) {
		if reason := m.add(a); reason != "" {
			m.unanswered = append(m.unanswered, Unanswered{a.node, reason})
		}
	}
	answerJSON(rw, m.result())
}

// askOthers asks all other nodes what this one is asked.
func (w *Server) askOthers(r *http.Request) []answerOf {
	names := w.Nodes.Others()
	answers := make([]answerOf, len(names))
	ctx, cancel := context.WithTimeout(r.Context(), w.Times.Ask)
	defer cancel()
	var asking sync.WaitGroup
	for i, name := range names {
		asking.Go(func() {
			a := &answers[i]
			a.node = name
			a.status, a.body, a.err = w.Nodes.Ask(ctx, name, http.MethodGet, targetOn(r), r.RemoteAddr)
		})
	}
	asking.Wait()
	return answers
}

type answerOf struct {
	node   string
	status int
	body   []byte
	err    error
}

// merging is one answer made of several nodes'.
type merging struct {
	lists      map[string][]json.RawMessage
	object     map[string]json.RawMessage
	unanswered []Unanswered
	bytes      int
}

func newMerging(lists []string, own []byte) (*merging, error) {
	m := &merging{lists: map[string][]json.RawMessage{}, unanswered: []Unanswered{}, bytes: len(own)}
	err := json.Unmarshal(own, &m.object)
	for _, name := range lists {
		var items []json.RawMessage
		if err == nil {
			err = json.Unmarshal(m.object[name], &items)
		}
		m.lists[name] = items
	}
	return m, err
}

// add adds a node's lists, or says why not.
func (m *merging) add(a answerOf) (reason string) {
	if reason := a.refused(m.bytes); reason != "" {
		return reason
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(a.body, &object) != nil {
		return unreadable
	}
	fresh := map[string][]json.RawMessage{}
	for name := range m.lists {
		var items []json.RawMessage
		if json.Unmarshal(object[name], &items) != nil {
			return unreadable
		}
		fresh[name] = items
	}
	m.bytes += len(a.body)
	for name, items := range fresh {
		m.lists[name] = append(m.lists[name], items...)
	}
	return ""
}

const unreadable = "its answer cannot be read"

// refused returns why an answer is left out, when so many bytes came before; empty when it
// is taken.
func (a *answerOf) refused(before int) string {
	switch {
	case a.err != nil:
		return a.err.Error()
	case a.status != http.StatusOK:
		return fmt.Sprintf("it answers with status %d", a.status)
	case before+len(a.body) > maxMerged:
		return fmt.Sprintf("the answer would be longer than %d bytes: ask it with ?node=", maxMerged)
	}
	return ""
}

func (m *merging) result() any {
	object := map[string]any{"unanswered": m.unanswered}
	for name, value := range m.object {
		object[name] = value
	}
	for name, items := range m.lists {
		object[name] = items
	}
	return object
}

// nodeName returns this server's name in a cluster.
func (w *Server) nodeName() string {
	if w.Nodes == nil {
		return ""
	}
	return w.Nodes.Name()
}
