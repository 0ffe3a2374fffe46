package transport

import (
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// ping is the time between pings on a connection, which is given up after the
	// second that is not answered.
	ping     = time.Second
	pingsOut = 2
	// retries is how often a lost node is tried again, once a second.
	retries = 86400
	client  = "node"
	// starting is how long the server may take to start.
	starting = 10 * time.Second
)

// ErrStart: the server of this process did not start.
var ErrStart = errors.New("transport: the engine did not start")

// engine is the NATS server in this process. Beside the listener for other nodes it
// has one for clients, without which it would not connect to other nodes: on the
// loopback interface, at a port of the system's choosing, with a password that only
// this process knows.
type engine struct {
	server   *server.Server
	password string // of clients
}

// startEngine starts a server that listens on address, and joins those at the
// addresses join. refuse is called when a node with another secret is at the other end.
func startEngine(o *Options, refuse func(error)) (*engine, error) {
	secure, err := routeTLS(o, refuse)
	if err != nil {
		return nil, err
	}
	own := rand.Text()
	options, err := engineOptions(o, secure, own)
	if err != nil {
		return nil, err
	}
	s, err := server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStart, err)
	}
	s.SetLoggerV2(engineLog{o.Logger}, false, false, false)
	// Start ends the process when it cannot listen: this finds that out before.
	l, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStart, err)
	}
	l.Close()
	s.Start()
	if !s.ReadyForConnections(starting) {
		s.Shutdown()
		return nil, fmt.Errorf("%w within %v", ErrStart, starting)
	}
	return &engine{s, own}, nil
}

// engineOptions are those of the server: secure is the TLS between nodes, own the password of
// clients.
func engineOptions(o *Options, secure *tls.Config, own string) (*server.Options, error) {
	host, text, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStart, err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("%w: the port of %q", ErrStart, o.Listen)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	user, passwords := "sluice", routePasswords{}
	for _, key := range o.keys("user") {
		passwords = append(passwords, hex.EncodeToString(key))
	}
	password := passwords[0]
	var routes []*url.URL
	for _, address := range o.Join {
		routes = append(routes, &url.URL{Scheme: "nats-route", User: url.UserPassword(user, password), Host: address})
	}
	// Without this nodes tell one another the address that a connection came from.
	advertise := host
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		advertise = ""
	} else if err == nil && ip.Is6() {
		advertise = "[" + host + "]" // as a port follows
	}
	return &server.Options{
		ServerName:      o.Node + "-" + strconv.FormatUint(o.Run, 36),
		Host:            "127.0.0.1",
		Port:            server.RANDOM_PORT,
		Username:        client,
		Password:        own,
		NoSigs:          true,
		NoLog:           true,
		NoSystemAccount: true,
		PingInterval:    ping,
		MaxPingsOut:     pingsOut,
		MaxPayload:      maxPayload,
		Routes:          routes,

		CustomRouterAuthentication: passwords,
		Cluster: server.ClusterOpts{
			Name:           "sluice",
			Host:           host,
			Port:           port,
			Advertise:      advertise,
			Username:       user,
			Password:       password,
			AuthTimeout:    5,
			TLSConfig:      secure,
			TLSTimeout:     5,
			ConnectRetries: retries,
			PoolSize:       -1,
			PingInterval:   ping,
			MaxPingsOut:    pingsOut,
			Compression:    server.CompressionOpts{Mode: server.CompressionOff},
		},
	}, nil
}

// routePasswords are those with which other nodes may come.
type routePasswords []string

// Check implements server.Authentication.
func (p routePasswords) Check(c server.ClientAuthentication) bool {
	given := []byte(c.GetOpts().Password)
	return slices.ContainsFunc(p, func(own string) bool { return subtle.ConstantTimeCompare(given, []byte(own)) == 1 })
}

// address is where other nodes join.
func (e *engine) address() string {
	if a := e.server.ClusterAddr(); a != nil {
		return a.String()
	}
	return ""
}

// routes are the nodes with a connection.
func (e *engine) routes() (nodes []string) {
	list, err := e.server.Routez(nil)
	if err != nil {
		return nil // not for these options
	}
	for _, r := range list.Routes {
		if at := strings.LastIndexByte(r.RemoteName, '-'); at > 0 { // the number of its run
			nodes = append(nodes, r.RemoteName[:at])
		}
	}
	return nodes
}

func (e *engine) close() {
	e.server.Shutdown()
	e.server.WaitForShutdown()
}
