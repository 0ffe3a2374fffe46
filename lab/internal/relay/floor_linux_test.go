package relay

import (
	"net"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/rtmp"
)

// likeGET writes the last packet of a handshake, whose bytes are random, as one that
// begins like a request by HTTP.
type likeGET struct {
	net.Conn
	writes int
}

func (c *likeGET) Write(p []byte) (int, error) {
	if c.writes++; c.writes == 2 {
		if len(p) != 1536 {
			panic("not the last packet of a handshake")
		}
		q := append([]byte("GET "), p[4:]...)
		return c.Conn.Write(q)
	}
	return c.Conn.Write(p)
}

func TestAFloorTakesAnyHandshake(t *testing.T) {
	conn, err := net.Dial("tcp4", startFloor(t, FLV, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(30 * time.Second))
	like := &likeGET{Conn: conn}
	c := rtmp.NewConn(sluice.NewBufReader(like), sluice.NewBufWriter(like), rtmp.Options{})
	if err := c.ClientHandshake(); err != nil {
		t.Fatal(err)
	}
	if err := c.Connect(rtmp.ConnectOptions{App: "live", TCURL: "rtmp://" + conn.RemoteAddr().String() + "/live"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Publish("bench"); err != nil {
		t.Fatal(err)
	}
}
