package wire

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
)

const hidden = "***"

var userinfo = regexp.MustCompile(`://[^/?#\s]*@`)

// Public returns a text, such as a target, with the user and password of each URL in it
// hidden: a name alone may be a token.
func Public(text string) string { return userinfo.ReplaceAllLiteralString(text, "://"+hidden+"@") }

// plainHeaders are known to hold no secrets.
var plainHeaders = regexp.MustCompile(`(?i)^(accept(-.*)?|cache-control|connection|content-.*|expect|host|if-.*|origin|range|te|user-agent)$`)

// PublicHeader returns a header, "Name: value", with its value hidden unless it is one that
// never holds a secret.
func PublicHeader(line string) string {
	name, _, ok := strings.Cut(line, ":")
	if !ok || plainHeaders.MatchString(name) {
		return line
	}
	return name + ": " + hidden
}

// PublicCommand returns a command of Redis, with what follows AUTH hidden.
func PublicCommand(text string) string {
	args := strings.Fields(text)
	for i, arg := range args {
		if strings.EqualFold(arg, "AUTH") && (i == 0 || strings.EqualFold(args[0], "HELLO")) && i < len(args)-1 {
			return strings.Join(append(args[:i+1:i+1], hidden), " ")
		}
	}
	return text
}

// A Digest stands for bytes that may be many, and secret, where it matters whether they are the same.
type Digest struct {
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"` // hexadecimal
}

func digest(p []byte, before *Digest) *Digest {
	if len(p) == 0 {
		return before
	}
	return &Digest{len(p), fmt.Sprintf("%x", sha256.Sum256(p))}
}

// Public returns the options with the secrets in headers and commands hidden, and with digests of
// bodies and of requests of one's own.
func (o Options) Public() Options {
	if o.HTTP != nil {
		h := *o.HTTP
		h.Headers = public(h.Headers, PublicHeader)
		h.BodyDigest, h.Body = digest(h.Body, h.BodyDigest), nil
		o.HTTP = &h
	}
	if o.Redis != nil {
		r := *o.Redis
		r.Commands = public(r.Commands, PublicCommand)
		o.Redis = &r
	}
	if o.Own != nil {
		own := *o.Own
		own.RequestDigest, own.Request = digest(own.Request, own.RequestDigest), nil
		o.Own = &own
	}
	return o
}

func public(texts []string, do func(string) string) (list []string) {
	for _, text := range texts {
		list = append(list, do(text))
	}
	return list
}
