package web

import (
	"net/http"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/archive"
)

// NewRecorded returns a Recorded.
func NewRecorded(files archive.Union, control func(stream string, on bool) error) *Recorded {
	return &Recorded{Files: files, Control: control, clips: clips{places{most: maxClips, perAddress: maxClipsPerAddress}}}
}

// recordings answers requests for what was recorded:
//
//	GET    /api/recordings[?stream=][&limit=]  the list
//	POST   /api/recordings?stream=             begin to record
//	DELETE /api/recordings?stream=             end that
//	GET    /api/recordings/FILE                a file, as a viewer of its stream
//	DELETE /api/recordings/FILE                delete it
//	GET    /api/clips?stream=&from=&to=        a part of them, likewise
//	GET    /api/rewind?stream=                 from when on viewers may rewind, likewise
//
// In a cluster the list is that of all nodes, and ?node= says which one a file is on.
func (w *Server) recordings(rw http.ResponseWriter, r *http.Request) {
	file, one := strings.CutPrefix(r.URL.Path, "/api/recordings/")
	clip, since := r.URL.Path == "/api/clips", r.URL.Path == "/api/rewind"
	also := []string{http.MethodOptions}
	switch {
	case one:
		also = append(also, http.MethodDelete)
	case !clip && !since:
		also = []string{http.MethodPost, http.MethodDelete}
	}
	if (clip || since || one) && r.Method != http.MethodDelete {
		w.cors().allow(rw.Header(), r)
		if r.Method == http.MethodOptions {
			w.cors().preflight(rw, r, also...)
			return
		}
	} else if !ownPage(rw, r) {
		return
	}
	if since {
		if reads(rw, r, also...) {
			w.getRewind(rw, r)
		}
		return
	}
	if !clip && w.recordingsElsewhere(rw, r, one) {
		return
	}
	if w.recordsNothing() {
		answerError(rw, http.StatusNotFound, nothingRecorded)
		return
	}
	switch {
	case clip:
		if reads(rw, r, also...) {
			w.getClip(rw, r)
		}
	case one && r.Method == http.MethodDelete:
		if w.mayChange(rw, r) && onlyWith(rw, r, "node") {
			w.answerDone(rw, w.Recorded.Files.Delete(file))
		}
	case one:
		if reads(rw, r, also...) {
			w.getRecording(rw, r, file)
		}
	case r.Method == http.MethodPost || r.Method == http.MethodDelete:
		if !w.mayChange(rw, r) || !onlyWith(rw, r, "stream") {
			return
		}
		name, err := streamOf(r)
		if err == nil {
			on := r.Method == http.MethodPost
			w.Log.Info("recording by the API", "stream", name, "on", on, "by", r.RemoteAddr)
			err = w.Recorded.Control(name, on)
		}
		w.answerDone(rw, err)
	case !reads(rw, r, also...):
	case w.mayRead(rw, r):
		w.text(w.getRecordings)(rw, r)
	}
}
