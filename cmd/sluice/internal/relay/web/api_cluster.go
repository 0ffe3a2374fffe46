package web

import "net/http"

// getCluster answers /api/cluster.
func (w *Server) getCluster(rw http.ResponseWriter, _ *http.Request) {
	if w.Cluster == nil {
		answerError(rw, http.StatusNotFound, "this server is in no cluster: see the setting cluster")
		return
	}
	answerJSON(rw, w.Cluster())
}
