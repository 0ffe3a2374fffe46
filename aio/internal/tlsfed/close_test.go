package tlsfed_test

import (
	"crypto/tls"
	"io"
	"testing"
)

// What a Write has reported as written goes out before the connection is closed, and so does
// close_notify, also while a Write of another goroutine collects records.
func TestCloseWriteSendsWhatAnotherWriteCollects(t *testing.T) {
	config, clientConfig := configs(t, tls.VersionTLS13)
	raw, ended, s := serve(t, config, 1<<10)
	client := tls.Client(raw, clientConfig)
	if _, err := client.Write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(client, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	s.session.BeginWrite(100_000)
	if _, err := s.session.Write([]byte("last")); err != nil {
		t.Fatal(err)
	}
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(client); string(got) != "last" || err != nil {
		t.Errorf("the client got %q, %v", got, err)
	}
	if err := result(t, ended); err != io.EOF {
		t.Errorf("the server ended with %v", err)
	}
}
