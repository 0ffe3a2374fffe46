package web

import (
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/archive"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// RecordingInfo is a recording in the API.
type RecordingInfo struct {
	archive.Recording
	LengthMS int64  `json:"duration_ms"`
	Node     string `json:"node,omitempty"` // in a cluster
}

// recordingList is the answer to a request for the list.
type recordingList struct {
	Recordings []RecordingInfo `json:"recordings"`
	Total      int             `json:"total"`                // of all that there are
	Unanswered []Unanswered    `json:"unanswered,omitempty"` // nodes
}

const mp4Type = "video/mp4"

// recordingLimit reads how many recordings are asked for, and answers a request that is
// wrong about it.
func recordingLimit(rw http.ResponseWriter, r *http.Request) (limit int, ok bool) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return maxListed, true
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxListed {
		answerError(rw, http.StatusBadRequest, fmt.Sprintf("limit is a number from 1 to %d", maxListed))
		return 0, false
	}
	return n, true
}

// streamOf is the stream that the query names.
func streamOf(r *http.Request) (string, error) {
	app, name, _ := strings.Cut(r.URL.Query().Get("stream"), "/")
	return session.StreamName(app, name)
}

// admitRecorded asks the gate as for a viewer of the stream. The holder of the API's
// token may have everything. done releases what was counted.
func (w *Server) admitRecorded(rw http.ResponseWriter, r *http.Request, stream string) (done func(), ok bool) {
	if want := w.Config().APIToken; want != "" && hasToken(r, want) {
		return func() {}, true
	}
	info := session.Info{Stream: stream, Protocol: session.FLV, Address: r.RemoteAddr, Agent: r.UserAgent(), Query: r.URL.Query()}
	if r.TLS != nil {
		info.Protocol = session.FLVS
	}
	done, err := w.AdmitGroup(r.Context(), info)
	if err != nil {
		w.Refused(session.RoleViewer, info, err)
		w.answerDone(rw, err)
		return nil, false
	}
	return done, true
}

// admitNamed is admitRecorded for the stream that the query names.
func (w *Server) admitNamed(rw http.ResponseWriter, r *http.Request) (stream string, done func(), ok bool) {
	stream, err := streamOf(r)
	if err != nil {
		w.answerDone(rw, err)
		return "", nil, false
	}
	done, ok = w.admitRecorded(rw, r, stream)
	return stream, done, ok
}

func (w *Server) getRecordings(rw http.ResponseWriter, r *http.Request) {
	limit, ok := recordingLimit(rw, r)
	if !ok {
		return
	}
	name := ""
	if r.URL.Query().Has("stream") {
		var err error
		if name, err = streamOf(r); err != nil {
			w.answerDone(rw, err)
			return
		}
	}
	files, all, err := w.Recorded.Files.List(name, limit)
	if err != nil {
		answerError(rw, http.StatusInternalServerError, err.Error())
		return
	}
	list := []RecordingInfo{}
	for _, f := range files {
		f.Begin = f.Begin.UTC()
		list = append(list, RecordingInfo{f, f.Length.Milliseconds(), w.nodeName()})
	}
	answerJSON(rw, recordingList{list, all, nil})
}

// getRecording serves a file, or parts of it (RFC 9110, section 14).
func (w *Server) getRecording(rw http.ResponseWriter, r *http.Request, file string) {
	// Before it is looked for: what there is must not be learnt from the answer.
	stream, err := archive.Stream(file)
	if err != nil {
		w.noRecording(rw, r, err)
		return
	}
	done, ok := w.admitRecorded(rw, r, stream)
	if !ok {
		return
	}
	defer done()
	f, rec, err := w.Recorded.Files.Open(file)
	if err != nil {
		w.noRecording(rw, r, err)
		return
	}
	defer f.Close()
	leave, err := w.Sending(r)
	if err != nil {
		rw.Header().Set("Retry-After", "1")
		w.answerDone(rw, err)
		return
	}
	defer leave()
	h := rw.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Type", flvType)
	if path.Ext(file) == ".mp4" {
		h.Set("Content-Type", mp4Type)
	}
	info, err := f.Stat()
	if err != nil {
		answerError(rw, http.StatusInternalServerError, "the recording cannot be read")
		return
	}
	h.Set("Cache-Control", "private, no-cache")
	if !rec.Writing {
		h.Set("ETag", fmt.Sprintf(`"%x-%x"`, info.ModTime().UnixNano(), info.Size()))
	}
	changed := info.ModTime()
	if rec.Writing {
		changed = time.Time{} // a date has whole seconds: what was written later in one would never be fetched
	}
	http.ServeContent(&paced{ResponseWriter: rw, within: w.Times.Answer}, r, "", changed, f)
}

func (w *Server) noRecording(rw http.ResponseWriter, r *http.Request, err error) {
	w.Log.Debug("no such recording", "address", r.RemoteAddr, "reason", err)
	answerError(rw, http.StatusNotFound, archive.ErrNotFound.Error())
}

// getClip sends a part of a stream's recordings.
func (w *Server) getClip(rw http.ResponseWriter, r *http.Request) {
	name, done, ok := w.admitNamed(rw, r)
	if !ok {
		return
	}
	defer done()
	from, to, err := span(r.URL.Query(), time.Now())
	if err != nil {
		w.answerDone(rw, err)
		return
	}
	leave, ok := w.Recorded.clips.enter(rw, r)
	if !ok {
		return
	}
	defer leave()
	c, err := w.Recorded.Files.Clip(name, from, to)
	if err != nil {
		w.answerDone(rw, err)
		return
	}
	defer c.Close()
	h := rw.Header()
	h.Set("Content-Type", mp4Type)
	h.Set("Content-Length", strconv.FormatInt(c.Size, 10))
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s.mp4"`, from.UTC().Format("20060102-150405")))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Clip-From", c.From.UTC().Format(time.RFC3339Nano))
	h.Set("Clip-To", c.To.UTC().Format(time.RFC3339Nano))
	h.Set("Access-Control-Expose-Headers", "Clip-From, Clip-To")
	rw.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	if n, err := c.WriteTo(&paced{ResponseWriter: rw, within: w.Times.Answer}); err != nil {
		w.Log.Debug("a clip was not sent in full", "address", r.RemoteAddr, "stream", name, "bytes", n, "of", c.Size, "error", err)
		// The client must not take what it has for all.
		http.NewResponseController(rw).SetWriteDeadline(time.Unix(1, 0))
	}
}
