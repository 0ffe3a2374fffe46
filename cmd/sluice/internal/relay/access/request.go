package access

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// Action is what a peer wants to do with a stream. Its text is part of a token's
// signed content and of the JSON for the hook.
type Action string

// The two actions.
const (
	Publish Action = "publish"
	Play    Action = "play"
)

func (a Action) valid() bool { return a == Publish || a == Play }

// ParseActions parses a list such as "publish,play", the form of a flag. An empty
// text is an empty list.
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

// split splits a list at its commas, trims spaces, and drops empty words.
func split(text string) []string {
	var words []string
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			words = append(words, word)
		}
	}
	return words
}

// Request is what a session knows about a peer that wants to publish or play.
type Request struct {
	Action Action
	// Stream is the full name, APP/NAME, without a query and without the
	// extension that HTTP paths have.
	Stream string
	// Token is the value of ?token=; when it is empty, it is taken from Query.
	Token string
	// Address is the peer's. The zero AddrPort means unknown: it is in no allow
	// list, and all unknown addresses count as one.
	Address netip.AddrPort
	// Protocol is how the peer is connected: "rtmp", "flv", "ws" and so on.
	Protocol string
	// Agent is what the peer calls its program.
	Agent string
	// Query holds all query parameters. It is borrowed until Admit returns.
	Query url.Values
}

func (r *Request) token() string {
	if r.Token != "" {
		return r.Token
	}
	return r.Query.Get("token")
}
