//go:build unix

package access

import (
	"os"
	"testing"
)

// Descriptors are scarce when the lowest that is free has too high a number.
func TestScarceDescriptors(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	used := int(f.Fd()) // about
	f.Close()
	if !scarce(used/2) || scarce(2*used+100) {
		t.Errorf("some %d are in use: of %d scarce %v, of %d %v", used, used/2, scarce(used/2), 2*used+100, scarce(2*used+100))
	}
}
