package rtspserver

import (
	"crypto/subtle"
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtspauth"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/rtsp"
)

// realm of the challenges.
const realm = "sluice"

// challenge says how a token may be given: with Digest (RFC 2617, section 3), or with
// Basic.
func (x *peer) challenge(resp *rtsp.Response) {
	resp.Header.Add("WWW-Authenticate", `Digest realm="`+realm+`", nonce="`+x.nonce+`"`)
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
		token = x.digest(req.Method, rest, action, info.Stream)
	}
	if token == "" {
		return
	}
	if info.Query == nil {
		info.Query = url.Values{}
	}
	info.Query.Set("token", token)
}

// digest returns the token that the parameters of a Digest prove, or nothing.
func (x *peer) digest(method, text string, action access.Action, stream string) string {
	p := rtspauth.Params(text)
	if p["nonce"] != x.nonce || p["realm"] != realm || p["algorithm"] != "" && !strings.EqualFold(p["algorithm"], "MD5") {
		return ""
	}
	token, ok := x.server.Gate.Expected(action, stream, p["username"])
	if !ok {
		return ""
	}
	want := rtspauth.Response(p["username"], token, method, p)
	if subtle.ConstantTimeCompare([]byte(want), []byte(strings.ToLower(p["response"]))) != 1 {
		return ""
	}
	return token
}
