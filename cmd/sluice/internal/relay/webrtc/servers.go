package webrtc

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
)

// credentialTime is how long the credentials for a TURN server hold: longer than
// sessions take to begin.
const credentialTime = 12 * time.Hour

// Links returns the values of Link header fields that name STUN and TURN servers to
// clients (RFC 9725, section 4.6). servers are URLs; those of TURN get credentials made
// with the secret that the TURN server has too, and are left out without one. The
// credentials are those of the REST API for TURN: a time as the user, and its HMAC-SHA1.
func Links(servers []string, secret string, now time.Time) []string {
	var list []string
	for _, server := range servers {
		if !strings.HasPrefix(server, "turn") {
			list = append(list, fmt.Sprintf(`<%s>; rel="ice-server"`, server))
			continue
		}
		if secret == "" {
			continue
		}
		user := fmt.Sprintf("%d:sluice", now.Add(credentialTime).Unix())
		sum := hmac.New(sha1.New, []byte(secret))
		sum.Write([]byte(user))
		list = append(list, fmt.Sprintf(`<%s>; rel="ice-server"; username="%s"; credential="%s"; credential-type="password"`,
			server, user, base64.StdEncoding.EncodeToString(sum.Sum(nil))))
	}
	return list
}
