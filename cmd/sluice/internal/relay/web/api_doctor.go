package web

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/streamdoctor"
)

// DoctorInfo is what /api/streams/NAME/doctor answers.
type DoctorInfo struct {
	Stream   string                 `json:"stream"`
	Healthy  bool                   `json:"healthy"`
	Findings []streamdoctor.Finding `json:"findings"`
	Measured streamdoctor.Measured  `json:"measured"`
}

// getDoctor looks at a stream for a few seconds, and answers why it may stall.
func (w *Server) getDoctor(rw http.ResponseWriter, r *http.Request, name string) {
	st, ok := w.Hub.Stream(name)
	if !ok {
		// One whose own name ends so.
		if _, there := w.Hub.Stream(name + "/doctor"); there {
			w.getStream(rw, r, name+"/doctor")
			return
		}
		answerError(rw, http.StatusNotFound, fmt.Sprintf("there is no stream %.80q", name))
		return
	}
	found, measured, err := w.doctor.Ask(r.Context(), st)
	switch {
	case errors.Is(err, streamdoctor.ErrBusy):
		answerError(rw, http.StatusServiceUnavailable, err.Error())
	case err != nil: // the client has gone
	default:
		if found == nil {
			found = []streamdoctor.Finding{}
		}
		answerJSON(rw, DoctorInfo{name, len(found) == 0, found, measured})
	}
}
