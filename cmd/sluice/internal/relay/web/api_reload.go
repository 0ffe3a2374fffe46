package web

import (
	"net/http"
	"strings"
)

// reload answers POST /api/reload: it reads the configuration again, and says what has
// changed and what waits for a restart, or everything that is wrong, a line each.
func (w *Server) reload(rw http.ResponseWriter, r *http.Request, rest string) {
	if !w.mayPost(rw, r, rest) || !onlyWith(rw, r) {
		return
	}
	if w.Reload == nil {
		answerError(rw, http.StatusNotFound, "this server has no configuration that could be read again")
		return
	}
	changed, waiting, err := w.Reload()
	if err != nil {
		answerWith(rw, http.StatusUnprocessableEntity, map[string]any{"error": "the configuration stays what it was", "faults": strings.Split(err.Error(), "\n")})
		return
	}
	if changed == nil {
		changed = []string{}
	}
	if waiting == nil {
		waiting = []string{}
	}
	answerJSON(rw, map[string][]string{"changed": changed, "waiting": waiting})
}
