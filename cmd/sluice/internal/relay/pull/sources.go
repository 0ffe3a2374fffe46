package pull

import (
	"context"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/edge"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/session"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/source"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
)

// NewSources makes the puller of the streams that have a source of their own. The others
// go on to other, which may be nil. change, which may be nil, is for tests.
func NewSources(h *session.Host, addresses []string, other source.Other, change func(*source.Options)) (*source.Puller, error) {
	list, err := source.ParseAll(addresses)
	if err != nil {
		return nil, err
	}
	o := source.Options{
		Sources: list,
		ID:      h.ID,
		Publish: func(s *source.Source) (source.Sink, error) { return newSourced(h, s) },
		Find: func(ctx context.Context, stream string) error {
			_, err := h.Hub.Wait(ctx, stream)
			return err
		},
		Other:    other,
		GiveUp:   h.Config().OriginRetry,
		Idle:     h.Config().PublishTimeout,
		MaxFrame: h.Config().MaxFrame,
		Alloc:    h.Alloc,
		Logger:   h.Log,
	}
	if change != nil {
		change(&o)
	}
	return source.New(o), nil
}

// sourced is the publisher of a stream that comes from a source.
type sourced struct {
	host      *session.Host
	publisher *live.Publisher
	client    *session.Client
	release   func()
}

func newSourced(h *session.Host, s *source.Source) (*sourced, error) {
	release, err := h.Gate.Reserve(s.Stream)
	if err != nil {
		return nil, err
	}
	p, err := h.Publish(s.Stream, s.String(), false)
	if err != nil {
		release()
		return nil, err
	}
	c := h.Register.Begin(session.RolePublisher, session.Info{Stream: s.Stream, Protocol: s.Protocol(), Address: s.String(), Agent: "source"})
	c.Attach(nil, func(error) { p.Close() })
	return &sourced{host: h, publisher: p, client: c, release: release}, nil
}

// Publish implements source.Sink.
func (p *sourced) Publish(f live.Frame) error {
	p.client.Count(flv.TagHeaderLen + f.Payload.Len())
	return p.publisher.Publish(f)
}

// Through implements source.Sink.
func (p *sourced) Through(way edge.Way) { p.host.ComesThrough(p.publisher, way) }

// Resume implements source.Sink.
func (p *sourced) Resume() { p.publisher.Resume() }

// LeftOut implements source.Sink.
func (p *sourced) LeftOut(tracks []string) { p.client.LeaveOut(tracks) }

// Close implements source.Sink.
func (p *sourced) Close() {
	reason := p.publisher.Err()
	p.publisher.Close()
	p.Through(nil)
	p.client.End(reason)
	p.release()
}
