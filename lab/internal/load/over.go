package load

import (
	"context"
	"net"
)

// RunOver is Run with the portable engine over connections that dial makes: for simulated
// targets, also in virtual time.
func RunOver(ctx context.Context, p Plan, dial func(context.Context, string) (net.Conn, error)) (*Result, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	return run(ctx, p, portable{}, dial, nil)
}
