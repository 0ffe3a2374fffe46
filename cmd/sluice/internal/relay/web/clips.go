package web

import (
	"fmt"
	"net/http"
)

// clips are those that are being sent.
type clips struct{ places }

// enter counts a clip until leave is called, or answers that there is no room.
func (x *clips) enter(rw http.ResponseWriter, r *http.Request) (leave func(), ok bool) {
	leave, all, here, ok := x.places.enter(r)
	if !ok {
		rw.Header().Set("Retry-After", "5")
		answerError(rw, http.StatusServiceUnavailable, fmt.Sprintf("%d clips are being sent, %d to this address; at most %d and %d at a time are", all, here, x.most, x.perAddress))
	}
	return leave, ok
}
