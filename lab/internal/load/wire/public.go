package wire

import (
	"regexp"
	"strings"
)

// hidden stands where a secret was.
const hidden = "***"

// userinfo is that of URLs within any text.
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

// Public returns the options with the secrets in headers and commands hidden.
func (o Options) Public() Options {
	if o.HTTP != nil {
		h := *o.HTTP
		h.Headers = public(h.Headers, PublicHeader)
		o.HTTP = &h
	}
	if o.Redis != nil {
		r := *o.Redis
		r.Commands = public(r.Commands, PublicCommand)
		o.Redis = &r
	}
	return o
}

func public(texts []string, do func(string) string) (list []string) {
	for _, text := range texts {
		list = append(list, do(text))
	}
	return list
}
