package rtspserver

import (
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/edge"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtpmedia"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtspauth"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/rtsp"
)

// realm of the challenges.
const realm = "sluice"

// userRule is what a client that logs in needs to know beside the token.
const userRule = " in the address, or as the password with what is before its last dot as the user"

// challenge says how a token may be given: with Digest (RFC 2617, section 3), or with
// Basic. stale says that the password was right, for another nonce than this connection's.
func (x *peer) challenge(resp *rtsp.Response, stale bool) {
	again := ""
	if stale {
		again = `, stale=true`
	}
	resp.Header.Add("WWW-Authenticate", `Digest realm="`+realm+`", nonce="`+x.nonce+`"`+again)
	resp.Header.Add("WWW-Authenticate", `Basic realm="`+realm+`"`)
}

// credentials takes the token from the Authorization header into the query, where it
// overrides none. With Basic it is the password, whatever the user. With Digest the user
// is the token up to its last dot, and the password the whole token: the server can
// make the rest itself, and the token is never sent.
func (x *peer) credentials(req *rtsp.Request, action access.Action, info *session.Info) {
	if info.Query.Get("token") != "" {
		return
	}
	scheme, rest, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	token := ""
	switch strings.ToLower(scheme) {
	case "basic":
		plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest))
		if err != nil {
			return
		}
		_, token, _ = strings.Cut(string(plain), ":")
	case "digest":
		if p := rtspauth.Params(rest); p["nonce"] == x.nonce {
			token = x.digest(req.Method, p, action, info.Stream)
		}
	}
	if token == "" {
		return
	}
	if info.Query == nil {
		info.Query = url.Values{}
	}
	info.Query.Set("token", token)
}

// stale reports whether a request that was refused proves a token, for a nonce that is not
// this connection's (RFC 2617, section 3.2.1).
func (x *peer) stale(req *rtsp.Request, action access.Action, stream string) bool {
	scheme, rest, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "digest") {
		return false
	}
	p := rtspauth.Params(rest)
	return p["nonce"] != x.nonce && x.digest(req.Method, p, action, stream) != ""
}

// digest returns the token that the parameters of a Digest prove for their nonce, or
// nothing.
func (x *peer) digest(method string, p map[string]string, action access.Action, stream string) string {
	if p["realm"] != realm || p["algorithm"] != "" && !strings.EqualFold(p["algorithm"], "MD5") {
		return ""
	}
	for _, token := range x.server.Gate.Expected(action, stream, p["username"]) {
		want := rtspauth.Response(p["username"], token, method, p)
		if subtle.ConstantTimeCompare([]byte(want), []byte(strings.ToLower(p["response"]))) == 1 {
			return token
		}
	}
	return ""
}

// parseURL parses the URL of a request. ffmpeg sends the zone of an address as it was typed, [fe80::1%eth0],
// where a URL has %25 (RFC 6874, section 2).
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if at := strings.IndexByte(text, '%'); err != nil && at >= 0 && strings.Contains(text[:at], "://[") && !strings.Contains(text[:at], "]") {
		return url.Parse(text[:at] + "%25" + text[at+1:])
	}
	return u, err
}

// info returns the session's Info for a request about a stream, and the rest of the path
// behind the stream's name when that is one of a track.
func (x *peer) info(req *rtsp.Request, action session.Role) (info session.Info, track string, err error) {
	info = session.Info{Protocol: x.protocol, Address: x.address, Agent: req.Header.Get("User-Agent"), Via: edge.PathOfHeader(req.Header.Values("Via"))}
	u, err := parseURL(req.URL)
	if err != nil {
		// Without the URL: it may have a token in it, or a password.
		return info, "", fmt.Errorf("%w: the address is no URL", session.ErrBadRequest)
	}
	info.Query = u.Query()
	path := strings.Trim(u.Path, "/")
	if rest, ok := strings.CutPrefix(path, x.stream()); x.stream() != "" && ok && (rest == "" || rest[0] == '/') {
		path, track = x.stream(), strings.Trim(rest, "/")
	} else if at := strings.LastIndexByte(path, '/'); at >= 0 && rtpmedia.IsTrackPath(path[at+1:]) {
		path, track = path[:at], path[at+1:]
	}
	app, name, _ := strings.Cut(path, "/")
	if info.Stream, err = session.StreamName(app, name); err != nil {
		return info, track, err
	}
	x.credentials(req, action.Action(), &info)
	return info, track, nil
}

// refuse answers a request that was not admitted. The connection ends after too many.
func (x *peer) refuse(r session.Role, req *rtsp.Request, info session.Info, err error) (*rtsp.Response, error) {
	x.server.Refused(r, info, err)
	status, reason := session.Refusal(err)
	if errors.Is(err, access.ErrTokenMissing) {
		reason += userRule
	}
	resp := x.reply(req, status)
	if reason != "" {
		resp.Reason = session.Quoted(reason)
	}
	if status != rtsp.StatusUnauthorized {
		return resp, nil
	}
	x.challenge(resp, x.stale(req, r.Action(), info.Stream))
	if x.denied++; x.denied > maxDenied {
		return resp, err
	}
	return resp, nil
}
