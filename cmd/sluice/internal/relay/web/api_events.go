package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/hooks"
)

// EventInfo is an event in the API.
type EventInfo struct {
	hooks.Event
	On string `json:"on,omitempty"` // in a cluster: the node on which it happened
}

// eventList is the answer to a request for events, the oldest first.
type eventList struct {
	Events     []EventInfo  `json:"events"`
	Last       any          `json:"last"` // the after of the next request: a number, in a cluster N@NODE,N@NODE...
	Unanswered []Unanswered `json:"unanswered,omitempty"`
}

// events answers /api/events?after=LAST: the latest events, those after LAST, which is what
// the answer before had.
func (w *Server) events(rw http.ResponseWriter, r *http.Request) {
	if !w.alone(rw, r, w.getEvents) {
		w.getEventsEverywhere(rw, r)
	}
}

// getEvents answers with the events of this server.
func (w *Server) getEvents(rw http.ResponseWriter, r *http.Request) {
	after, err := parseAfter(r.URL.Query().Get("after"))
	if err != nil {
		answerError(rw, http.StatusBadRequest, err.Error())
		return
	}
	answerJSON(rw, w.eventsHere(after))
}

// eventsHere are those of this server.
func (w *Server) eventsHere(after cursor) eventList {
	node := w.nodeName()
	events, last := w.Recent.After(after.of(node))
	l := eventList{Events: make([]EventInfo, len(events)), Last: last}
	if node != "" {
		l.Last = eventID(last, node)
	}
	for i, v := range events {
		if node != "" {
			v.ID += "@" + node
		}
		l.Events[i] = EventInfo{v, node}
	}
	return l
}

// getEventsEverywhere answers with those of all nodes, by their times. What a node that does
// not answer has is asked for again with the answer's last.
func (w *Server) getEventsEverywhere(rw http.ResponseWriter, r *http.Request) {
	after, err := parseAfter(r.URL.Query().Get("after"))
	if err != nil {
		answerError(rw, http.StatusBadRequest, err.Error())
		return
	}
	all := w.eventsHere(after)
	last, size, there := []string{fmt.Sprint(all.Last)}, 0, []string{"", w.nodeName()}
	for _, a := range w.askOthers(r) {
		there = append(there, a.node)
		var some eventList
		reason, next := a.refused(size), ""
		if reason == "" {
			err := json.Unmarshal(a.body, &some)
			if next, _ = some.Last.(string); err != nil || next == "" {
				reason = unreadable
			}
		}
		if reason != "" {
			all.Unanswered = append(all.Unanswered, Unanswered{a.node, reason})
			last = append(last, eventID(after.of(a.node), a.node))
			continue
		}
		size += len(a.body)
		all.Events = append(all.Events, some.Events...)
		last = append(last, next)
	}
	slices.SortStableFunc(all.Events, func(a, b EventInfo) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.On, b.On))
	})
	all.Last = strings.Join(append(last, after.away(there)...), ",")
	answerJSON(rw, all)
}

// maxAway is how many nodes that are away have a place in a cursor: what one of them had
// before does not come again when it is back.
const maxAway = 64

// A cursor has the number of the latest event that a client has of each node; that without
// a name is for all others.
type cursor struct {
	numbers map[string]int64
	nodes   []string // in the order in which they stand in the request
}

func (c cursor) of(node string) int64 {
	if n, ok := c.numbers[node]; ok {
		return n
	}
	return c.numbers[""]
}

// away returns the parts of nodes that are not there. They follow the others in an answer, so
// those that have been away for longest come last, and are dropped first.
func (c cursor) away(there []string) (parts []string) {
	for _, node := range c.nodes {
		if len(parts) < maxAway && !slices.Contains(there, node) {
			parts = append(parts, eventID(c.numbers[node], node))
		}
	}
	return parts
}

func eventID(n int64, node string) string { return strconv.FormatInt(n, 10) + "@" + node }

// parseAfter reads what eventList.Last has.
func parseAfter(text string) (cursor, error) {
	c := cursor{numbers: map[string]int64{}}
	if text == "" {
		return c, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		number, node, _ := strings.Cut(part, "@")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return c, fmt.Errorf("after: %s is not a number", strconv.QuoteToASCII(number[:min(len(number), 20)]))
		}
		if _, again := c.numbers[node]; !again {
			c.nodes = append(c.nodes, node)
		}
		c.numbers[node] = n
	}
	return c, nil
}
