package web

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

const nothingRecorded = "nothing is recorded here: see the setting record"

func (w *Server) recordsNothing() bool { return w.Recorded == nil || len(w.Recorded.Files()) == 0 }

// recordingsElsewhere answers a request that is for another node or for all, and reports
// whether it was. A file is sent by the node that has it: its client is sent there.
func (w *Server) recordingsElsewhere(rw http.ResponseWriter, r *http.Request, file bool) bool {
	list := !file && (r.Method == http.MethodGet || r.Method == http.MethodHead)
	if w.Nodes == nil || ofNode(r) || !file && !list {
		return false
	}
	if list && !r.URL.Query().Has("node") {
		if w.mayRead(rw, r) {
			w.text(w.getRecordingsEverywhere)(rw, r)
		}
		return true
	}
	node := w.nodeOf(r, "")
	switch {
	case node == "":
		return false
	case list:
		if w.mayRead(rw, r) {
			w.text(func(rw http.ResponseWriter, r *http.Request) { w.pass(rw, r, node) })(rw, r)
		}
	case r.Method == http.MethodDelete:
		if w.mayChange(rw, r) && onlyWith(rw, r, "node") {
			w.pass(rw, r, node)
		}
	case reads(rw, r, http.MethodOptions, http.MethodDelete):
		w.sendToFile(rw, r, node)
	}
	return true
}

// sendToFile sends a client to a file of another node, with its token.
func (w *Server) sendToFile(rw http.ResponseWriter, r *http.Request, node string) {
	base := w.Nodes.PlayURL(node)
	if base == "" {
		answerError(rw, http.StatusNotFound, "there is no such node")
		return
	}
	q := r.URL.Query()
	q.Del("node")
	to := strings.TrimSuffix(base, "/") + r.URL.EscapedPath()
	if len(q) > 0 {
		to += "?" + q.Encode()
	}
	rw.Header().Set("Location", to)
	rw.Header().Set("Cache-Control", "no-store")
	rw.WriteHeader(http.StatusTemporaryRedirect)
}

// getRecordingsEverywhere answers with the newest recordings of all nodes. One that records
// nothing answers 404, as this one does when none does.
func (w *Server) getRecordingsEverywhere(rw http.ResponseWriter, r *http.Request) {
	all := recordingList{Recordings: []RecordingInfo{}}
	records := !w.recordsNothing()
	most, ok := recordingLimit(rw, r)
	if !ok {
		return
	}
	if records {
		own := newAnswerBuffer()
		w.getRecordings(own, r)
		if own.status != http.StatusOK {
			answerBytes(rw, own.status, own.body.Bytes())
			return
		}
		if err := json.Unmarshal(own.body.Bytes(), &all); err != nil {
			answerError(rw, http.StatusInternalServerError, err.Error())
			return
		}
	}
	size := 0
	for _, a := range w.askOthers(r) {
		if a.err == nil && a.status == http.StatusNotFound {
			continue
		}
		records = true
		var some recordingList
		reason := a.refused(size)
		if reason == "" && json.Unmarshal(a.body, &some) != nil {
			reason = unreadable
		}
		if reason != "" {
			all.Unanswered = append(all.Unanswered, Unanswered{a.node, reason})
			continue
		}
		size += len(a.body)
		all.Recordings, all.Total = append(all.Recordings, some.Recordings...), all.Total+some.Total
	}
	if !records {
		answerError(rw, http.StatusNotFound, nothingRecorded)
		return
	}
	slices.SortStableFunc(all.Recordings, func(a, b RecordingInfo) int {
		return cmp.Or(b.Begin.Compare(a.Begin), cmp.Compare(a.Node, b.Node))
	})
	all.Recordings = all.Recordings[:min(most, len(all.Recordings))]
	answerJSON(rw, all)
}
