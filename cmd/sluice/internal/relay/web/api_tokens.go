package web

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// mostExpiry limits how long a token holds, so that a typing error cannot make one
// that practically never expires.
const mostExpiry = 10 * 365 * 24 * time.Hour

// TokenInfo is a token that was made.
type TokenInfo struct {
	Token   string        `json:"token"`
	ID      string        `json:"id"`
	Action  access.Action `json:"action"`
	Stream  string        `json:"stream"`
	Expires time.Time     `json:"expires"`
}

// tokens answers POST /api/tokens?action=publish&stream=APP/NAME&for=24h&id=NAME:
// a token for it, signed with the server's secret. id is optional.
func (w *Server) tokens(rw http.ResponseWriter, r *http.Request, rest string) {
	if !w.mayPost(rw, r, rest) || !onlyWith(rw, r, "action", "stream", "for", "id") {
		return
	}
	secret := []byte(w.Config().TokenSecret)
	if err := access.CheckSecret(secret); err != nil {
		answerError(rw, http.StatusConflict, "the server signs no tokens: "+access.SecretEnv+": "+err.Error())
		return
	}
	t, err := tokenRequest(r, time.Now())
	if err != nil {
		answerError(rw, http.StatusBadRequest, err.Error())
		return
	}
	t.Token = access.SignID(secret, t.Action, t.Stream, t.ID, t.Expires)
	w.Log.Info("token", "id", t.ID, "action", t.Action, "stream", t.Stream, "expires", t.Expires, "from", r.RemoteAddr)
	answerJSON(rw, t)
}

// tokenRequest returns what a request asks for, without the token.
func tokenRequest(r *http.Request, now time.Time) (t TokenInfo, err error) {
	q := r.URL.Query()
	t.Action, t.ID = access.Action(q.Get("action")), q.Get("id")
	if t.Action != access.Publish && t.Action != access.Play {
		return t, fmt.Errorf("action: %.20q is neither publish nor play", t.Action)
	}
	app, name, _ := strings.Cut(q.Get("stream"), "/")
	if t.Stream, err = session.StreamName(app, name); err != nil {
		return t, fmt.Errorf("stream: %w", err)
	}
	within := 24 * time.Hour
	if text := q.Get("for"); text != "" {
		if within, err = time.ParseDuration(text); err != nil {
			return t, fmt.Errorf("for: %.20q is not a time with its unit, such as 24h, or is too long", text)
		}
	}
	if within < time.Second || within > mostExpiry {
		return t, fmt.Errorf("for: %v is not within 1s to %v", within, mostExpiry)
	}
	if t.ID == "" {
		t.ID = strings.ToLower(rand.Text()[:10])
	}
	if err := access.CheckID(t.ID); err != nil {
		return t, fmt.Errorf("id: %w", err)
	}
	t.Expires = now.Add(within).UTC().Truncate(time.Second)
	return t, nil
}
