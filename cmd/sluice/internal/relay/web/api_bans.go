package web

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

func (w *Server) getBans(rw http.ResponseWriter, _ *http.Request) {
	answerJSON(rw, map[string]any{"bans": w.Gate.Bans()})
}

// postBan adds the ban that the query describes: by, value, action, for. Active
// sessions that match it are ended.
func (w *Server) postBan(rw http.ResponseWriter, r *http.Request) {
	if !onlyWith(rw, r, "by", "value", "action", "for") {
		return
	}
	q := r.URL.Query()
	within, err := banTime(q.Get("for"))
	if err != nil {
		answerError(rw, http.StatusBadRequest, "for: "+err.Error())
		return
	}
	b := access.Ban{By: access.BanBy(q.Get("by")), Value: q.Get("value"), Action: access.Action(q.Get("action"))}
	if b.By == access.BanStream {
		// Another name is no stream's, and would ban nothing.
		app, name, _ := strings.Cut(b.Value, "/")
		if b.Value, err = session.StreamName(app, name); err != nil {
			w.answerDone(rw, err)
			return
		}
	}
	b, err = w.Gate.Ban(b, within)
	w.answerBan(rw, r, b, err)
}

// answerBan answers what Gate.Ban returned, and ends the sessions that a ban
// matches. A ban that was not saved holds.
func (w *Server) answerBan(rw http.ResponseWriter, r *http.Request, b access.Ban, err error) {
	unsaved := errors.Is(err, access.ErrBansFile)
	if err == nil || unsaved {
		w.Banned(b, r.RemoteAddr)
		w.shareBans()
	}
	switch {
	case unsaved:
		w.notSaved(rw, err)
	case err != nil:
		answerError(rw, http.StatusBadRequest, err.Error())
	default:
		answerJSON(rw, b)
	}
}

func (w *Server) notSaved(rw http.ResponseWriter, err error) {
	w.Log.Error("bans are not saved: that is tried again with the next change, and at the end of the server", "error", err)
	answerError(rw, http.StatusInternalServerError, "this holds, but it could not be saved, and may not hold after a restart; the log says why")
}

func banTime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%.20q is not a time with its unit, such as 10m, or is too long", text)
	}
	return d, nil
}

// shareBans gives the bans to the other nodes.
func (w *Server) shareBans() {
	if w.Nodes != nil {
		w.Nodes.BansChanged()
	}
}

// Banned ends the sessions that match a ban, and logs it. from is who has banned.
func (w *Server) Banned(b access.Ban, from string) {
	ended := 0
	for _, c := range w.Register.List() {
		if !c.Peer && b.Matches(c.Role.Action(), c.Stream, c.IP(), c.Token) {
			c.Stop(session.ErrKicked)
			ended++
		}
	}
	w.Log.Info("ban", "id", b.ID, "by", b.By, "value", b.Value, "until", b.Until, "ended", ended, "from", from)
}

func (w *Server) liftBan(rw http.ResponseWriter, r *http.Request, id string) {
	if !onlyWith(rw, r) {
		return
	}
	ok, err := w.Gate.Lift(id)
	if !ok {
		answerError(rw, http.StatusNotFound, fmt.Sprintf("there is no ban %.40q", id))
		return
	}
	w.Log.Info("ban lifted", "id", id, "from", r.RemoteAddr)
	w.shareBans()
	if err != nil {
		w.notSaved(rw, err)
		return
	}
	rw.WriteHeader(http.StatusNoContent)
}

// banClient bans a session as the query says: ?ban=10m&by=address, stream or
// token; address is the default.
func (w *Server) banClient(c *session.Client, r *http.Request) (access.Ban, error) {
	q := r.URL.Query()
	within, err := banTime(q.Get("ban"))
	if err != nil {
		return access.Ban{}, fmt.Errorf("ban: %w", err)
	}
	b := access.Ban{By: access.BanBy(q.Get("by"))}
	switch b.By {
	case "", access.BanAddress:
		b.By = access.BanAddress
		if b.Value = c.IP().String(); !c.IP().IsValid() {
			return access.Ban{}, errors.New("the address of this session is not known")
		}
	case access.BanStream:
		b.Value, b.Action = c.Stream, c.Role.Action()
	case access.BanToken:
		if b.Value = c.Token; b.Value == "" {
			return access.Ban{}, errors.New("this session has no token with an id")
		}
	}
	return w.Gate.Ban(b, within)
}
