package access_test

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
)

func Example() {
	secret := []byte("0123456789abcdef0123456789abcdef")
	noon := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	gate, err := access.New(access.Options{
		Protect:    []access.Action{access.Publish},
		Secret:     secret,
		MaxViewers: 1,
		Now:        func() time.Time { return noon },
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	token := access.Sign(secret, access.Publish, "live/s", noon.Add(time.Hour))
	fmt.Println(token)
	publish := access.Request{
		Action:  access.Publish,
		Stream:  "live/s",
		Address: netip.MustParseAddrPort("192.0.2.1:5000"),
		Query:   url.Values{"token": {token}},
	}
	release, err := gate.Admit(context.Background(), publish)
	fmt.Println(err)
	release()

	publish.Stream = "live/other"
	_, err = gate.Admit(context.Background(), publish)
	fmt.Println(access.Status(err), access.Reason(err))

	play := access.Request{Action: access.Play, Stream: "live/s"}
	release, _ = gate.Admit(context.Background(), play)
	_, err = gate.Admit(context.Background(), play)
	fmt.Println(access.Status(err), access.Reason(err))
	release()
	// Output:
	// 1893502800.59aboxoEB8qipcttTcyiHyJmh0QDOWsuRLefQcGLbkc
	// <nil>
	// 401 the token is not valid for this stream
	// 503 no room for more viewers (limit 1)
}
