package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/push"
)

// PushInfo is a push in the API, PushTarget a target that was added.
type (
	PushInfo struct {
		push.Status
		Node string `json:"node,omitempty"` // in a cluster
	}
	PushTarget struct {
		push.Added
		Node string `json:"node,omitempty"` // in a cluster
	}
)

func (w *Server) getPushes(rw http.ResponseWriter, _ *http.Request) {
	pushes, targets := []PushInfo{}, []PushTarget{}
	for _, p := range w.Pushes.List() {
		pushes = append(pushes, PushInfo{p, w.nodeName()})
	}
	for _, t := range w.Pushes.Added() {
		targets = append(targets, PushTarget{t, w.nodeName()})
	}
	answerJSON(rw, map[string]any{"pushes": pushes, "targets": targets})
}

// maxPushBody is the longest description of a target, in bytes.
const maxPushBody = 8 << 10

// getAllPushes is getPushes with those of the other nodes.
func (w *Server) getAllPushes(rw http.ResponseWriter, r *http.Request) {
	w.everywhere(rw, r, w.getPushes, "pushes", "targets")
}

// postPush adds the target that the body describes. The key in its address is in no
// answer and no log.
func (w *Server) postPush(rw http.ResponseWriter, r *http.Request) {
	if !onlyWith(rw, r) {
		return
	}
	var asked struct {
		Pattern  string `json:"pattern"`
		URL      string `json:"url"`
		Enhanced bool   `json:"enhanced"`
	}
	text, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, maxPushBody))
	if err == nil {
		err = decodeOnly(text, &asked)
	}
	if err != nil {
		status := http.StatusBadRequest
		if long := (*http.MaxBytesError)(nil); errors.As(err, &long) {
			status = http.StatusRequestEntityTooLarge
		}
		// Not the error's text: it may have a part of the key in it.
		answerError(rw, status, fmt.Sprintf(`want at most %d bytes of JSON such as {"pattern":"live/*","url":"rtmp://host/app/name"}, and beside these only "enhanced":true`, maxPushBody))
		return
	}
	// The environment is for the settings: it may have secrets in it that those who
	// use the API do not know.
	t, err := push.NewTarget(asked.Pattern, asked.URL, func(string) string { return "" })
	if err != nil {
		answerError(rw, http.StatusBadRequest, err.Error())
		return
	}
	if asked.Enhanced {
		t.TakesEnhanced()
	}
	added, err := w.Pushes.Add(t)
	switch {
	case errors.Is(err, push.ErrFull):
		answerError(rw, http.StatusConflict, err.Error())
	case err != nil:
		answerError(rw, http.StatusInternalServerError, err.Error())
	default:
		w.Log.Info("push target added; it is lost at a restart", "id", added.ID, "pattern", added.Pattern, "target", added.Target, "from", r.RemoteAddr)
		answerJSON(rw, struct {
			push.Added
			Until string `json:"until"`
		}{added, "restart"})
	}
}

// decodeOnly decodes one JSON value. A field that v does not have is an error: misspelt, it
// would be without effect.
func decodeOnly(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("web: something follows the JSON")
	}
	return nil
}

func (w *Server) deletePush(rw http.ResponseWriter, r *http.Request, id string) {
	if !onlyWith(rw, r, "node") {
		return
	}
	if node := w.nodeOf(r, ""); node != "" {
		w.pass(rw, r, node)
		return
	}
	if !w.Pushes.Remove(id) {
		answerError(rw, http.StatusNotFound, fmt.Sprintf("there is no added target %.40q; those of the settings change with them", id))
		return
	}
	w.Log.Info("push target removed", "id", id, "from", r.RemoteAddr)
	rw.WriteHeader(http.StatusNoContent)
}
