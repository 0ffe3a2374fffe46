package source

import (
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/rtspauth"
)

// challenged returns the answer to a server's challenges: Digest rather than Basic; nil
// when there is neither.
func challenged(user *url.Userinfo, challenges []string) *credentials {
	var basic *credentials
	for _, text := range challenges {
		scheme, rest, _ := strings.Cut(text, " ")
		switch strings.ToLower(scheme) {
		case "digest":
			if p := rtspauth.Params(rest); rtspauth.Knows(p) {
				return &credentials{user: user, params: p, digest: true}
			}
		case "basic":
			basic = &credentials{user: user}
		}
	}
	return basic
}

// header is the Authorization of a request.
func (c *credentials) header(method, address string) string {
	password, _ := c.user.Password()
	if !c.digest {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(c.user.Username()+":"+password))
	}
	c.uses++
	return "Digest " + rtspauth.Answer(c.user.Username(), password, method, address, c.params, c.uses)
}
