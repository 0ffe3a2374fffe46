package config

import (
	"errors"
	"strings"
	"unicode"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
)

// Permission configures who may publish, play and use the API.
type Permission struct {
	Protect      []string // publish, play: what needs a token
	Hook         string   // URL that is asked before a session is admitted
	AllowPublish []string // CIDR; empty for all
	AllowPlay    []string
	Revoked      []string // ids of tokens
	BansFile     string   // "": bans end with the server
	CORS         []string // origins whose pages may play from here; "*" for all

	// The secrets come from the environment only.
	TokenSecret, TokenSecretAccept string
	APIToken                       string
}

// Environment variables with the secrets.
const (
	EnvTokenSecret = access.SecretEnv
	EnvAPIToken    = "SLUICE_API_TOKEN"
)

func (g *Permission) settings() []Setting {
	return []Setting{
		{Name: "protect", Live: true, Scoped: true, Usage: "`actions` that need a token: publish, play or both; see sluice token",
			value: list(&g.Protect), fits: allOf(&g.Protect, "publish", "play")},
		{Name: "revoked-tokens", Live: true, Usage: "`ids` of tokens that hold no more; see sluice token",
			value: list(&g.Revoked), fits: tokenIDs(&g.Revoked)},
		{Name: "bans-file", Usage: "keep bans in this `file`, so that they outlive a restart",
			value: text(&g.BansFile)},
		{Name: "hook", Live: true, Scoped: true, Usage: "`URL` that is asked before a session may publish or play",
			value: text(&g.Hook), fits: webURL(&g.Hook, "http", "https")},
		{Name: "allow-publish", Live: true, Scoped: true, Usage: "`networks` that may publish, such as 10.0.0.0/8,::1; all unless given",
			value: list(&g.AllowPublish), fits: networks(&g.AllowPublish)},
		{Name: "allow-play", Live: true, Scoped: true, Usage: "`networks` that may play; all unless given",
			value: list(&g.AllowPlay), fits: networks(&g.AllowPlay)},
		{Name: "cors", Default: "*", Live: true, Usage: "`origins` whose pages may play from here, such as https://example.com; * for all, off for none",
			value: list(&g.CORS), fits: origins(&g.CORS)},
		{Name: "token-secret", Live: true, Secret: true, Usage: "signs the tokens of protect",
			value: text(&g.TokenSecret)},
		{Name: "token-secret-accept", Live: true, Secret: true, Usage: "another one by which tokens hold, while that is changed",
			value: text(&g.TokenSecretAccept), fits: secret(&g.TokenSecretAccept)},
		{Name: "api-token", Live: true, Secret: true, Usage: "what the API and the metrics ask for",
			value: text(&g.APIToken), fits: inHeader(&g.APIToken)},
	}
}

// inHeader accepts what a field of a request's header can have, or nothing. A secret that was read
// from a file often ends in a line break.
func inHeader(v *string) func() error {
	return func() error {
		if strings.TrimSpace(*v) != *v {
			return errors.New("no request can have it: it begins or ends with a space or a line break")
		}
		if strings.ContainsFunc(*v, unicode.IsControl) {
			return errors.New("no request can have it: there is a control character in it")
		}
		return nil
	}
}
