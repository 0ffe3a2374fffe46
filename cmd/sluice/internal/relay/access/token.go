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

// MinSecret is the shortest secret in bytes. Who has one token can try secrets
// at leisure, so that a word would not last.
const MinSecret = 16

// SecretEnv is the environment variable that the secret is taken from, so that
// it stands in no command line.
const SecretEnv = "SLUICE_TOKEN_SECRET"

// CheckSecret returns an error for a secret that is too short.
func CheckSecret(secret []byte) error {
	if len(secret) < MinSecret {
		return fmt.Errorf("access: the token secret has %d bytes, at least %d are needed (such as what openssl rand -hex 32 prints)",
			len(secret), MinSecret)
	}
	return nil
}

// mostToken is longer than every token: 19 digits, a dot and 43 characters.
const mostToken = 64

// encoding is strict so that there is one spelling of a token only.
var encoding = base64.RawURLEncoding.Strict()

// Sign returns the token with which action is allowed on stream until expiry,
// whose fractions of a second are dropped. Its form is EXPIRY.MAC: Unix seconds
// in decimal, and in unpadded base64url (RFC 4648, section 5) the HMAC-SHA256
// (RFC 2104) under secret of action, stream and EXPIRY with a line feed between
// them. It needs no escaping in a URL.
//
// Sign panics for an action that is none and an expiry before 1970.
func Sign(secret []byte, action Action, stream string, expiry time.Time) string {
	seconds := expiry.Unix()
	if !action.valid() || seconds < 0 {
		panic(fmt.Sprintf("access: Sign of action %q until %d", action, seconds))
	}
	until := strconv.FormatInt(seconds, 10)
	return until + "." + encoding.EncodeToString(mac(secret, action, stream, until))
}

// mac is unambiguous: no action has a line feed in it, nor has an expiry.
func mac(secret []byte, action Action, stream, until string) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(string(action) + "\n" + stream + "\n" + until))
	return h.Sum(nil)
}

// Verify returns nil when token allows action on stream at the time now. The
// errors are ErrTokenMissing, ErrTokenWrong and ErrTokenExpired, as they are;
// only who had a right token hears that it has expired. The comparison takes
// the same time wherever the difference is.
func Verify(secret []byte, action Action, stream, token string, now time.Time) error {
	if token == "" {
		return ErrTokenMissing
	}
	if len(token) > mostToken || len(secret) == 0 {
		return ErrTokenWrong
	}
	until, sum, ok := strings.Cut(token, ".")
	got, err := encoding.DecodeString(sum)
	if !ok || err != nil || strings.ContainsAny(sum, "\r\n") { // which the decoder passes over
		return ErrTokenWrong
	}
	if !hmac.Equal(got, mac(secret, action, stream, until)) {
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
