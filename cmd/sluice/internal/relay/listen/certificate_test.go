package listen

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Files that have changed are noticed when it is time to look, and not before;
// what is no certificate does not replace one.
func TestCertificateFollowsItsFiles(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	write := func(serial int64) {
		t.Helper()
		private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		template := x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour)}
		public, err := x509.CreateCertificate(rand.Reader, &template, &template, &private.PublicKey, private)
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.MarshalPKCS8PrivateKey(private)
		if err != nil {
			t.Fatal(err)
		}
		for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: public}, key: {Type: "PRIVATE KEY", Bytes: der}} {
			if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(1)
	c, err := LoadCertificate(cert, key, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	serial := func() int64 {
		t.Helper()
		got, err := c.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		return got.Leaf.SerialNumber.Int64()
	}
	write(2)
	if n := serial(); n != 1 {
		t.Errorf("serial %d before it is time to look", n)
	}
	c.checked = c.checked.Add(-checkEvery)
	if n := serial(); n != 2 {
		t.Errorf("serial %d after the files changed", n)
	}
	if err := os.WriteFile(cert, []byte("half a fi"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.checked = c.checked.Add(-checkEvery)
	if n := serial(); n != 2 {
		t.Errorf("serial %d after a bad file", n)
	}
	if err := c.Use(cert, key); err == nil || serial() != 2 {
		t.Errorf("use of a bad file: %v", err)
	}
}
