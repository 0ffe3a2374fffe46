package web

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// ClientInfo is a session in the API.
type ClientInfo struct {
	ID       string       `json:"id"`
	Node     string       `json:"node,omitempty"` // in a cluster
	Role     session.Role `json:"role"`
	Stream   string       `json:"stream"`
	Protocol string       `json:"protocol"`
	Address  string       `json:"address"`
	Agent    string       `json:"agent"`
	Token    string       `json:"token,omitempty"` // its id
	Since    time.Time    `json:"since"`
	Bytes    int64        `json:"bytes"`
	Frames   int64        `json:"frames"`
	LagMS    int64        `json:"lag_ms"`
	Jumps    int64        `json:"jumps"`
	Dropped  int64        `json:"dropped"`
	MergeMS  int64        `json:"merge_ms"`

	// Of viewers over UDP that report on what comes, packets and ms:
	Lost     *int64 `json:"lost,omitempty"`
	JitterMS *int64 `json:"jitter_ms,omitempty"`
}

func (w *Server) getClients(rw http.ResponseWriter, r *http.Request) {
	list := []ClientInfo{}
	node := w.nodeName()
	for _, c := range w.Register.List() {
		f := c.Figures()
		info := ClientInfo{
			ID: c.ID, Node: node, Role: c.Role, Stream: c.Stream, Protocol: c.Protocol, Address: c.Address, Agent: c.Agent, Token: c.Token, Since: c.Since.UTC(),
			Bytes: f.Bytes, Frames: f.Frames, LagMS: f.Lag.Milliseconds(), Jumps: f.Jumps, Dropped: f.Dropped, MergeMS: f.Merge.Milliseconds(),
		}
		if f.Reported {
			jitter := f.Jitter.Milliseconds()
			info.Lost, info.JitterMS = &f.Lost, &jitter
		}
		list = append(list, info)
	}
	answerJSON(rw, map[string]any{"clients": list})
}

// deleteClient ends a session, and with ?ban=TIME also bans it.
func (w *Server) deleteClient(rw http.ResponseWriter, r *http.Request, id string) {
	if !w.mayChange(rw, r) || !onlyWith(rw, r, "ban", "by", "node") {
		return
	}
	if q := r.URL.Query(); q.Has("by") && !q.Has("ban") {
		answerError(rw, http.StatusBadRequest, "by: what is banned, for the time that ban=TIME says, which is not there")
		return
	}
	_, at, _ := strings.Cut(id, "@")
	if node := w.nodeOf(r, at); node != "" {
		w.pass(rw, r, node)
		return
	}
	c, ok := w.Register.Get(id)
	if !ok {
		answerError(rw, http.StatusNotFound, fmt.Sprintf("there is no client %.40q", id))
		return
	}
	if r.URL.Query().Has("ban") {
		b, err := w.banClient(c, r)
		if err == nil || errors.Is(err, access.ErrBansFile) {
			c.Stop(session.ErrKicked)
		}
		w.answerBan(rw, r, b, err)
		return
	}
	w.Log.Info("kick", "id", id, "by", r.RemoteAddr)
	c.Stop(session.ErrKicked)
	rw.WriteHeader(http.StatusNoContent)
}
