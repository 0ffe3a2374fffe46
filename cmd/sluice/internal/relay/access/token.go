package access

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MinSecret is the shortest secret in bytes. An attacker with one token can test
// secrets offline, so a short word would be found.
const MinSecret = 16

// SecretEnv is the environment variable with the secret, which keeps it out of
// command lines.
const SecretEnv = "SLUICE_TOKEN_SECRET"

// CheckSecret returns an error for a secret that is too short.
func CheckSecret(secret []byte) error {
	if len(secret) < MinSecret {
		return fmt.Errorf("access: the token secret has %d bytes, at least %d are needed (such as what openssl rand -hex 32 prints)",
			len(secret), MinSecret)
	}
	return nil
}

const (
	// mostToken is longer than every token: an id, 19 digits, 43 characters and
	// two dots.
	mostToken = 128
	// mostID is the longest id of a token, in bytes.
	mostID = 32
)

// encoding is strict, so that each token has exactly one spelling.
var encoding = base64.RawURLEncoding.Strict()

// Sign returns the token with which action is allowed on stream until expiry,
// whose fractions of a second are dropped. Its form is EXPIRY.MAC: Unix seconds
// in decimal, and in unpadded base64url (RFC 4648, section 5) the HMAC-SHA256
// (RFC 2104) under secret of action, stream and EXPIRY with a line feed between
// them. It needs no escaping in a URL.
//
// Sign panics for an invalid action and for an expiry before 1970.
func Sign(secret []byte, action Action, stream string, expiry time.Time) string {
	seconds := expiry.Unix()
	if !action.valid() || seconds < 0 {
		panic(fmt.Sprintf("access: Sign of action %q until %d", action, seconds))
	}
	until := strconv.FormatInt(seconds, 10)
	return until + "." + encoding.EncodeToString(mac(secret, action, stream, until))
}

// SignID is Sign for a token with an id, which can be revoked and banned. Its
// form is ID.EXPIRY.MAC, with "id:" and the id behind another line feed in what
// is signed.
//
// It also panics for an id that CheckID refuses.
func SignID(secret []byte, action Action, stream, id string, expiry time.Time) string {
	seconds := expiry.Unix()
	if !action.valid() || seconds < 0 || !validID(id) {
		panic(fmt.Sprintf("access: SignID of action %q, id %q, until %d", action, id, seconds))
	}
	until := strconv.FormatInt(seconds, 10)
	return id + "." + until + "." + encoding.EncodeToString(mac(secret, action, stream, until+"\nid:"+id))
}

// CheckID returns an error for an invalid token id. An id is 1 to 32 letters,
// digits, hyphens and underscores.
func CheckID(id string) error {
	if !validID(id) {
		return fmt.Errorf("access: %.40q cannot be the id of a token: 1 to %d letters, digits, - and _", id, mostID)
	}
	return nil
}

func validID(id string) bool {
	return id != "" && len(id) <= mostID && !strings.ContainsFunc(id, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_'
	})
}

// TokenID returns the id in a token, or "" if it has none. It does not verify the
// token.
func TokenID(token string) string {
	id, rest, ok := strings.Cut(token, ".")
	if !ok || !strings.Contains(rest, ".") || !validID(id) {
		return ""
	}
	return id
}

// mac is unambiguous: no action, no expiry and no stream name that a peer may
// send contains a line feed.
func mac(secret []byte, action Action, stream, until string) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(string(action) + "\n" + stream + "\n" + until))
	return h.Sum(nil)
}

// Verify returns nil when token allows action on stream at the time now. The
// errors are ErrTokenMissing, ErrTokenWrong and ErrTokenExpired, unwrapped.
// ErrTokenExpired is only returned for a correctly signed token. The comparison
// takes constant time.
func Verify(secret []byte, action Action, stream, token string, now time.Time) error {
	if token == "" {
		return ErrTokenMissing
	}
	if len(token) > mostToken || len(secret) == 0 {
		return ErrTokenWrong
	}
	signed := ""
	if id := TokenID(token); id != "" {
		token = token[len(id)+1:]
		signed = "\nid:" + id
	}
	until, sum, ok := strings.Cut(token, ".")
	got, err := encoding.DecodeString(sum)
	if !ok || err != nil || strings.ContainsAny(sum, "\r\n") { // the decoder ignores these
		return ErrTokenWrong
	}
	if !hmac.Equal(got, mac(secret, action, stream, until+signed)) {
		return ErrTokenWrong
	}
	seconds, err := strconv.ParseInt(until, 10, 64)
	if err != nil {
		return ErrTokenWrong
	}
	if now.Unix() >= seconds {
		return ErrTokenExpired
	}
	return nil
}
