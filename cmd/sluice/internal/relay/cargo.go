package relay

import (
	"fmt"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/handover"
)

// carried are the kinds of state that this version can take over.
var carried = []string{}

// carries returns an error when a process that can take over the given kinds could not
// take over what this one may have.
func (s *Server) carries(kinds []string) error { return nil }

// cargo is what is handed over, paused.
type cargo struct{}

func (s *Server) pack() *cargo { return &cargo{} }

func (p *cargo) send(c *handover.Conn) error {
	return c.Send(handover.KindWhole, handover.Whole{}, nil, nil)
}

// unpack lets everything go on.
func (p *cargo) unpack() {}

// leave lets go of everything: it is another process's.
func (p *cargo) leave() {}

func (p *cargo) publishers() int { return 0 }
func (p *cargo) viewers() int    { return 0 }

// arrived is what was taken over and does not go on yet.
type arrived struct{}

func (s *Server) receive(c *handover.Conn) (*arrived, error) {
	var whole handover.Whole
	_, err := c.Expect(handover.KindWhole, &whole)
	if err == nil && whole != (handover.Whole{}) {
		err = fmt.Errorf("%w: %+v", handover.ErrProtocol, whole)
	}
	return &arrived{}, err
}

func (a *arrived) drop()           {}
func (a *arrived) start()          {}
func (a *arrived) publishers() int { return 0 }
func (a *arrived) viewers() int    { return 0 }
