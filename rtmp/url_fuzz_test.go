package rtmp

import (
	"reflect"
	"testing"
)

// What is written of an address that was read is the same address.
func FuzzURL(f *testing.F) {
	for _, s := range []string{"rtmp://host/app/name", "RTMPS://h:1/a/b/c?token=x%20y&z", "rtmp://[::1]:5/a%2Fb/c%3Fd", "rtmp://h/a b/%23", "rtmp://h//a//b/", "rtmp://h/%61/%", "rtmp://h/a/b?", "rtmp://::/0/0", "rtmp://h/%2F/0", "rtmp://h/a%2F/b/%2F"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseURL(s)
		if err != nil {
			return
		}
		again, err := ParseURL(u.String())
		if err != nil || !reflect.DeepEqual(again, u) {
			t.Fatalf("%q is %+v, written %q, which is %+v, %v", s, u, u.String(), again, err)
		}
	})
}
