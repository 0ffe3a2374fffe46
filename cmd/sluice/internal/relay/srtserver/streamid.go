package srtserver

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
)

// A request is what a stream id says.
type request struct {
	stream string // APP/NAME
	role   session.Role
	query  url.Values
}

// standard is what a stream id in the form of SRT's access control begins with.
const standard = "#!::"

// parseStreamID reads a stream id: "#!::r=APP/NAME,m=publish" as of SRT's access control
// guidelines, or APP/NAME, publish:APP/NAME and read:APP/NAME. A resource may have a
// query. Keys that are not the protocol's become part of it. All may be escaped as in an
// address. An error matches session.ErrBadRequest.
func parseStreamID(id string) (r request, err error) {
	r.role, r.query = session.RoleViewer, url.Values{}
	if !strings.HasPrefix(id, standard) {
		if id, err = unescaped(id); err != nil {
			return r, err
		}
	}
	resource := id
	if rest, ok := strings.CutPrefix(id, standard); ok {
		resource = ""
		for pair := range strings.SplitSeq(rest, ",") {
			key, value, ok := strings.Cut(pair, "=")
			if !ok {
				return r, fmt.Errorf("%w: %.20q in the stream id has no value", session.ErrBadRequest, key)
			}
			switch key {
			case "r":
				if resource, err = unescaped(value); err != nil {
					return r, err
				}
			case "m":
				switch value {
				case "publish":
					r.role = session.RolePublisher
				case "request":
				default:
					return r, fmt.Errorf("%w: mode %.20q is neither publish nor request", session.ErrBadRequest, value)
				}
			case "t":
				if value != "stream" {
					return r, fmt.Errorf("%w: type %.20q is not stream", session.ErrBadRequest, value)
				}
			case "s", "token":
				r.query.Set("token", value)
			default: // u, h and others
				r.query.Set(key, value)
			}
		}
	} else if rest, ok := strings.CutPrefix(id, "publish:"); ok {
		resource, r.role = rest, session.RolePublisher
	} else if rest, ok := strings.CutPrefix(id, "read:"); ok {
		resource = rest
	}
	resource, query, _ := strings.Cut(resource, "?")
	if query != "" {
		more, err := url.ParseQuery(query)
		if err != nil {
			return r, fmt.Errorf("%w: the query in the stream id", session.ErrBadRequest)
		}
		for key, values := range more {
			r.query[key] = values
		}
	}
	app, name, _ := strings.Cut(strings.TrimPrefix(resource, "/"), "/")
	r.stream, err = session.StreamName(app, name)
	return r, err
}

// unescaped returns an id, or its resource, as it was meant. Some clients decode the id in their
// address, others send it as it is there, and no name has a percent sign. What follows a question
// mark is escaped by itself.
func unescaped(id string) (string, error) {
	name, query, asks := strings.Cut(id, "?")
	if !strings.Contains(name, "%") {
		return id, nil
	}
	name, err := url.PathUnescape(name)
	if err != nil {
		return "", fmt.Errorf("%w: an escape in the stream id", session.ErrBadRequest)
	}
	if asks {
		name += "?" + query
	}
	return name, nil
}
