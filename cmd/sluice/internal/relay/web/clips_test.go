package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// One address that takes its clips slowly leaves room for others.
func TestClipsOfOneAddressAreBounded(t *testing.T) {
	x := clips{places{most: maxClips, perAddress: maxClipsPerAddress}}
	enter := func(address string) (leave func(), status int) {
		rw, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/api/clips", nil)
		r.RemoteAddr = address
		leave, _ = x.enter(rw, r)
		return leave, rw.Code
	}
	var leaving []func()
	for _, address := range []string{"10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3", "10.0.0.1:4", "[2001:db8::1]:1", "[2001:db8::2]:1", "[2001:db8::3]:1", "[2001:db8::4]:1",
		"10.0.0.2", "10.0.0.3", "10.0.0.2", "10.0.0.2", "10.0.0.2"} { // by proxies that give no port
		leave, _ := enter(address)
		if leave == nil {
			t.Fatalf("%s has none", address)
		}
		leaving = append(leaving, leave)
	}
	for _, address := range []string{"10.0.0.1:5", "[2001:db8::5]:1", "10.0.0.2"} {
		if leave, status := enter(address); leave != nil || status != http.StatusServiceUnavailable {
			t.Errorf("%s has one more: %d", address, status)
		}
	}
	for _, leave := range leaving {
		leave()
	}
	if x.all != 0 || len(x.of) != 0 {
		t.Errorf("%d are left, of %d addresses", x.all, len(x.of))
	}
}
