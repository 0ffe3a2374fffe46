package cluster

import (
	"errors"
	"testing"
	"time"
)

// While a secret is changed, grants of both hold.
func TestGrantsOfBothSecrets(t *testing.T) {
	now := time.Now()
	old, next, other := grantKey([]byte("the old secret")), grantKey([]byte("the next secret")), grantKey([]byte("another secret"))
	for _, c := range []struct {
		made     []byte
		accepted [][]byte
		holds    bool
	}{
		{old, [][]byte{old}, true},
		{next, [][]byte{old}, false},
		{next, [][]byte{old, next}, true},
		{old, [][]byte{next, old}, true},
		{other, [][]byte{next, old}, false},
	} {
		from, err := checkGrant(c.accepted, grant(c.made, "live/s", "a", "b", now), "live/s", "b", now)
		if c.holds && (err != nil || from != "a") || !c.holds && !errors.Is(err, ErrGrant) {
			t.Errorf("%+v: from %q, %v", c, from, err)
		}
	}
}
