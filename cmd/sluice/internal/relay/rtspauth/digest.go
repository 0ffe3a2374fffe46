// Package rtspauth is the Digest of RTSP (RFC 2326, section 3.2, refers to HTTP's, which
// is RFC 2617, and RFC 7616 since), for servers and for clients.
package rtspauth

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Params reads the parameters of a challenge or of its answer: NAME=VALUE with commas
// between them, with or without quotation marks. Limits of the message bound them.
func Params(text string) map[string]string {
	m := map[string]string{}
	for text != "" {
		name, rest, ok := strings.Cut(text, "=")
		if !ok {
			break
		}
		name = strings.ToLower(strings.Trim(name, " ,\t"))
		var value string
		if quoted, is := strings.CutPrefix(strings.TrimLeft(rest, " "), `"`); is {
			value, text, _ = strings.Cut(quoted, `"`)
		} else {
			value, text, _ = strings.Cut(rest, ",")
			value = strings.TrimSpace(value)
		}
		m[name] = value
	}
	return m
}

// algorithms are those of RFC 7616, section 3.3, with which passwords can be proved here.
var algorithms = map[string]func(text string) string{"": md5Of, "MD5": md5Of, "SHA-256": sha256Of}

// Knows reports whether a challenge with these parameters can be answered.
func Knows(challenge map[string]string) bool {
	return algorithms[strings.ToUpper(challenge["algorithm"])] != nil
}

// Response proves a password (RFC 2617, section 3.2.2; RFC 7616, section 3.4): with the
// quality auth if p has it, and the algorithm that p names, MD5 without a name that is known.
func Response(user, password, method string, p map[string]string) string {
	sum := algorithms[strings.ToUpper(p["algorithm"])]
	if sum == nil {
		sum = md5Of
	}
	secret := sum(user + ":" + p["realm"] + ":" + password)
	what := sum(method + ":" + p["uri"])
	if p["qop"] == "auth" {
		return sum(strings.Join([]string{secret, p["nonce"], p["nc"], p["cnonce"], "auth", what}, ":"))
	}
	return sum(secret + ":" + p["nonce"] + ":" + what)
}

// Answer returns the parameters that answer a challenge. uses is how often its nonce has
// been used, this time included: servers refuse a number that came before.
func Answer(user, password, method, uri string, challenge map[string]string, uses int) string {
	p := map[string]string{"realm": challenge["realm"], "nonce": challenge["nonce"], "uri": uri}
	more := ""
	if a := challenge["algorithm"]; a != "" {
		p["algorithm"] = a
		more = ", algorithm=" + a
	}
	for quality := range strings.SplitSeq(challenge["qop"], ",") {
		if strings.TrimSpace(quality) == "auth" {
			p["qop"], p["nc"], p["cnonce"] = "auth", fmt.Sprintf("%08x", uses), md5Of(challenge["nonce"]+method)
			more += fmt.Sprintf(`, qop=auth, nc=%s, cnonce="%s"`, p["nc"], p["cnonce"])
		}
	}
	if o := challenge["opaque"]; o != "" {
		more += fmt.Sprintf(`, opaque="%s"`, o)
	}
	return fmt.Sprintf(`username="%s", realm="%s", nonce="%s", uri="%s", response="%s"%s`,
		user, p["realm"], p["nonce"], uri, Response(user, password, method, p), more)
}

func md5Of(text string) string {
	s := md5.Sum([]byte(text))
	return hex.EncodeToString(s[:])
}

func sha256Of(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}
