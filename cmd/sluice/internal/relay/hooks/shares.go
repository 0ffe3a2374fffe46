package hooks

import (
	"context"
	"net/netip"
	"sync"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/access"
)

// shares bounds what one address has of the calls at once, so that one that opens many
// connections keeps no other waiting.
type shares struct {
	most int // of one address; an IPv6 /64 is one

	mu sync.Mutex
	of map[netip.Prefix]*share
}

// share is what one address has.
type share struct {
	turns chan struct{}
	users int // that have or wait for one
}

// enter waits until the address may have one more call; one that is not known may at once.
// leave has to be called once, unless there is an error, which is ctx's.
func (s *shares) enter(ctx context.Context, address netip.Addr) (leave func(), err error) {
	if !address.IsValid() {
		return func() {}, nil
	}
	host := access.HostOf(address)
	s.mu.Lock()
	one := s.of[host]
	if one == nil {
		one = &share{turns: make(chan struct{}, s.most)}
		s.of[host] = one
	}
	one.users++
	s.mu.Unlock()
	select {
	case one.turns <- struct{}{}:
	case <-ctx.Done():
		s.drop(host, one)
		return nil, ctx.Err()
	}
	return func() {
		<-one.turns
		s.drop(host, one)
	}, nil
}

func (s *shares) drop(host netip.Prefix, one *share) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(s.of, host)
	}
}
