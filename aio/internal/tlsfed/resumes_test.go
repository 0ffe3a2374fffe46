package tlsfed

import (
	"crypto/tls"
	"errors"
	"testing"
)

func TestResumes(t *testing.T) {
	if err := Resumes(); err != nil {
		t.Fatal(err)
	}
}

// An error that is not temporary is kept, which is what Resumes would find with a
// crypto/tls that keeps the others too.
func TestResumesFindsAKeptError(t *testing.T) {
	config := new(tls.Config)
	config.GetCertificate = selfSigned
	if err := resumes(config, errors.New("kept")); err == nil {
		t.Error("an error that crypto/tls keeps is not found")
	}
}
