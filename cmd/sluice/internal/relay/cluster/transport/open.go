package transport

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
)

// Open starts the server in this process, or connects to one. With an outside NATS
// that is away, or refuses this node, it succeeds, and connects when that changes.
func Open(o Options) (*Transport, error) {
	if err := CheckName(o.Node); err != nil {
		return nil, err
	}
	if len(o.Secret) == 0 || o.Receive == nil || (o.Listen == "") == (o.URL == "") {
		panic("transport: Open without a secret or a receiver, or not with one of Listen and URL")
	}
	o.Prefix = cmp.Or(o.Prefix, "sluice")
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Clock == nil {
		o.Clock = time.Now
	}
	keys := o.keys("messages")
	t := &Transport{options: o, outbox: newOutbox(), sealer: sealer{key: keys[0], from: o.Node, run: o.Run}, opener: opener{keys: keys, nodes: map[string]*seen{}}}
	t.requests.init(&o)
	done, disconnect := context.WithCancel(context.Background())
	t.disconnect = disconnect
	options := []nats.Option{
		nats.Name("sluice " + o.Node), nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond), nats.ReconnectJitter(250*time.Millisecond, 250*time.Millisecond),
		nats.PingInterval(ping), nats.MaxPingsOutstanding(pingsOut), nats.RetryOnFailedConnect(true), nats.ReconnectBufSize(-1), nats.NoEcho(),
		nats.Timeout(connectTimeout), nats.IgnoreAuthErrorAbort(), nats.SetCustomDialer(&dialer{done: done, urls: o.URL, tls: o.TLS}), nats.SkipHostLookup(),
		nats.ConnectHandler(t.connects), nats.ReconnectHandler(t.connects),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			t.connected.Store(false)
			t.failed(err)
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { t.failed(err) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { t.failed(err) }),
	}
	address := o.URL
	if o.URL == "" {
		var err error
		if t.engine, err = startEngine(&o, t.refuse); err != nil {
			return nil, err
		}
		options, address = append(options, nats.InProcessServer(t.engine.server), nats.UserInfo(client, t.engine.password)), ""
	}
	conn, err := nats.Connect(address, options...)
	if err == nil {
		t.conn = conn
		if t.engine != nil {
			t.connected.Store(true) // an outside one may be connecting, which would be waited for
		}
		for subject, receive := range map[string]func([]byte){
			o.Prefix + ".node.*":           func(m []byte) { t.receive("", m) },
			o.Prefix + ".ctl." + o.Node:    func(m []byte) { t.receive(o.Node, m) },
			o.Prefix + ".ask." + o.Node:    t.asked,
			o.Prefix + ".answer." + o.Node: t.answered,
		} {
			if _, err = conn.Subscribe(subject, func(m *nats.Msg) { receive(m.Data) }); err != nil {
				break
			}
		}
	}
	if err != nil {
		close(t.outbox.done)
		t.Close()
		return nil, fmt.Errorf("transport: connecting to %s: %w", redacted(o.URL), err)
	}
	go t.outbox.run(t.publish, func() { t.conn.FlushTimeout(time.Second) })
	return t, nil
}

// Close closes the connection and ends the server in this process.
func (t *Transport) Close() {
	t.requests.close()
	t.outbox.close()
	if t.Connected() {
		t.Flush()
	}
	t.disconnect()
	if t.conn != nil {
		t.conn.Close()
	}
	<-t.outbox.done
	if t.engine != nil {
		t.engine.close()
	}
}
