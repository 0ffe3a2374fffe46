package hooks

import (
	"testing"
	"time"
)

// The signature is what a receiver computes by the documentation: the HMAC-SHA256 of
// SECONDS.BODY, here by another implementation.
func TestSignatureIsThatOfTheDocumentation(t *testing.T) {
	const want = "t=1700000000,v1=20b94c469ff522f612a0dcbb45e848d6571ebda33109abfb0699181a664bb813"
	got := Signature([]byte("a secret of the receiver"), time.Unix(1_700_000_000, 5e8), []byte("{\"events\":[]}\n"))
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
