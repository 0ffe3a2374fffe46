package relay

import (
	"fmt"
	"net/http"
	"time"
)

// apiClient is a session in the API.
type apiClient struct {
	ID       string    `json:"id"`
	Role     role      `json:"role"`
	Stream   string    `json:"stream"`
	Protocol string    `json:"protocol"`
	Address  string    `json:"address"`
	Agent    string    `json:"agent"`
	Since    time.Time `json:"since"`
	Bytes    int64     `json:"bytes"`
	Frames   int64     `json:"frames"`
	LagMS    int64     `json:"lag_ms"`
	Jumps    int64     `json:"jumps"`
	Dropped  int64     `json:"dropped"`
	MergeMS  int64     `json:"merge_ms"`
}

func (w *web) getClients(rw http.ResponseWriter, r *http.Request) {
	list := []apiClient{}
	for _, c := range w.clients.list() {
		f := c.figures()
		list = append(list, apiClient{
			ID: c.id, Role: c.role, Stream: c.Stream, Protocol: c.Protocol, Address: c.Address, Agent: c.Agent, Since: c.since.UTC(),
			Bytes: f.Bytes, Frames: f.Frames, LagMS: f.Lag.Milliseconds(), Jumps: f.Jumps, Dropped: f.Dropped, MergeMS: f.Merge.Milliseconds(),
		})
	}
	answerJSON(rw, map[string]any{"clients": list})
}

// deleteClient ends a session.
func (w *web) deleteClient(rw http.ResponseWriter, r *http.Request, id string) {
	if !w.trusted(r) {
		w.unauthorized(rw)
		return
	}
	c, ok := w.clients.get(id)
	if !ok {
		answerError(rw, http.StatusNotFound, fmt.Sprintf("there is no client %.40q", id))
		return
	}
	w.log.Info("kick", "id", id, "by", r.RemoteAddr)
	c.stop(errKicked)
	rw.WriteHeader(http.StatusNoContent)
}
