package cluster

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrGrant: a request says that it is from a node of the cluster, and is not.
var ErrGrant = errors.New("cluster: the grant is not valid")

const (
	// GrantKey is the key of a grant in a query.
	GrantKey = "grant"
	// granted is how long a grant holds.
	granted = 30 * time.Second
	// apart is how far the clocks of two nodes may be apart.
	apart = 15 * time.Second
)

// grantKey returns the key of grants that belongs to a cluster's secret.
func grantKey(secret []byte) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte("sluice cluster\x00grants"))
	return h.Sum(nil)
}

// grant returns the query that lets node from have a stream, or what else is named,
// from node to: FROM.EXPIRY.CODE.
func grant(secret []byte, stream, from, to string, now time.Time) url.Values {
	until := strconv.FormatInt(now.Add(granted).Unix(), 10)
	return url.Values{GrantKey: {from + "." + until + "." + hex.EncodeToString(grantCode(secret, stream, from, to, until))}}
}

func grantCode(secret []byte, stream, from, to, until string) []byte {
	h := hmac.New(sha256.New, secret)
	fmt.Fprintf(h, "grant\x00%s\x00%s\x00%s\x00%s", stream, from, to, until)
	return h.Sum(nil)
}

// checkGrant returns the node that a grant in a query is for, which was made with one of the
// secrets. An error matches ErrGrant.
func checkGrant(secrets [][]byte, q url.Values, stream, to string, now time.Time) (from string, err error) {
	parts := strings.Split(q.Get(GrantKey), ".")
	if len(parts) != 3 {
		return "", fmt.Errorf("%w: it is not of the form NODE.EXPIRY.CODE", ErrGrant)
	}
	code, err := hex.DecodeString(parts[2])
	if err != nil || !slices.ContainsFunc(secrets, func(secret []byte) bool {
		return hmac.Equal(code, grantCode(secret, stream, parts[0], to, parts[1]))
	}) {
		return "", fmt.Errorf("%w: it is not for this, or not of this cluster", ErrGrant)
	}
	until, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || now.After(time.Unix(until, 0).Add(apart)) || time.Unix(until, 0).After(now.Add(granted+apart)) {
		return "", fmt.Errorf("%w: it has expired, or a clock is wrong", ErrGrant)
	}
	return parts[0], nil
}
