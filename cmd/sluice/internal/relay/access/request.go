package access

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// Action is what somebody wants to do with a stream. Its text is part of what
// a token signs and of what a hook is told.
type Action string

// The two actions.
const (
	Publish Action = "publish"
	Play    Action = "play"
)

func (a Action) valid() bool { return a == Publish || a == Play }

// ParseActions understands a list such as "publish,play", the form of a flag.
// An empty text is an empty list.
func ParseActions(text string) ([]Action, error) {
	var list []Action
	for _, word := range split(text) {
		a := Action(word)
		if !a.valid() {
			return nil, fmt.Errorf("access: %q is neither publish nor play", word)
		}
		list = append(list, a)
	}
	return list, nil
}

// split cuts a list at its commas and drops the spaces around the words, and
// words of nothing else.
func split(text string) []string {
	var words []string
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			words = append(words, word)
		}
	}
	return words
}

// Request is what a session knows about somebody who wants to publish or play.
type Request struct {
	Action Action
	// Stream is the full name, APP/NAME, without a query and without the
	// extension that HTTP paths have.
	Stream string
	// Token is what came as ?token=; when it is empty, Query is looked at.
	Token string
	// Address is the peer's. The zero AddrPort is one that is not known, which no
	// allow list has and which counts as one address.
	Address netip.AddrPort
	// Protocol is how the peer is connected: "rtmp", "flv", "ws" and so on.
	Protocol string
	// Agent is what the peer calls its program.
	Agent string
	// Query is all that stood behind the question mark. It is read until Admit
	// returns.
	Query url.Values
}

func (r *Request) token() string {
	if r.Token != "" {
		return r.Token
	}
	return r.Query.Get("token")
}
