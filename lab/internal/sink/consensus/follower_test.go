package consensus

import (
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/sluice-go/sluice/internal/loopback"
	"github.com/sluice-go/sluice/netsim"
)

// A follower has no disk, votes for any candidate, and answers a leader as raft does,
// but for what the test has it say.
type follower struct {
	peer      Peer
	transport *raft.NetworkTransport

	// The first send makes it hold its answer to the next entries, the second says what that
	// answer is.
	hold chan func(*raft.AppendEntriesRequest, *raft.AppendEntriesResponse)

	term atomic.Uint64
	last atomic.Uint64 // entry that it has
}

// newFollower starts one, over a line of so many bytes per second if that is not 0.
func newFollower(t *testing.T, id string, bandwidth int64) *follower {
	l, err := net.Listen("tcp", net.JoinHostPort(loopback.Host(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	if bandwidth > 0 {
		l = slowListener{l, bandwidth}
	}
	f := &follower{
		peer: Peer{ID: id, Addr: l.Addr().String()},
		transport: raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
			Stream: layer{Listener: l}, MaxPool: 1, Timeout: limit, MsgpackUseNewTimeFormat: true,
			Logger: hclog.New(&hclog.LoggerOptions{Output: io.Discard}),
		}),
		hold: make(chan func(*raft.AppendEntriesRequest, *raft.AppendEntriesResponse)),
	}
	f.transport.SetHeartbeatHandler(f.answer)
	quit := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case rpc := <-f.transport.Consumer():
				f.answer(rpc)
			case <-quit:
				return
			}
		}
	})
	t.Cleanup(func() {
		f.transport.Close()
		f.transport.CloseStreams()
		close(quit)
		running.Wait()
	})
	return f
}

func (f *follower) answer(rpc raft.RPC) {
	header := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(f.peer.ID), Addr: []byte(f.peer.Addr)}
	switch request := rpc.Command.(type) {
	case *raft.RequestPreVoteRequest:
		rpc.Respond(&raft.RequestPreVoteResponse{RPCHeader: header, Term: request.Term, Granted: true}, nil)
	case *raft.RequestVoteRequest:
		f.term.Store(max(f.term.Load(), request.Term))
		rpc.Respond(&raft.RequestVoteResponse{RPCHeader: header, Term: request.Term, Granted: request.Term >= f.term.Load()}, nil)
	case *raft.AppendEntriesRequest:
		response := &raft.AppendEntriesResponse{RPCHeader: header, Term: f.term.Load(), LastLog: f.last.Load()}
		f.append(request, response)
		rpc.Respond(response, nil)
	case *raft.TimeoutNowRequest:
		rpc.Respond(&raft.TimeoutNowResponse{RPCHeader: header}, nil)
	default:
		rpc.Respond(nil, fmt.Errorf("%T is not expected", request))
	}
}

func (f *follower) append(request *raft.AppendEntriesRequest, response *raft.AppendEntriesResponse) {
	n := len(request.Entries)
	if n > 0 {
		select {
		case <-f.hold:
			(<-f.hold)(request, response)
			return
		default:
		}
	}
	if request.Term < f.term.Load() || request.PrevLogEntry > f.last.Load() {
		response.NoRetryBackoff = true
		return
	}
	if n > 0 {
		f.last.Store(max(f.last.Load(), request.Entries[n-1].Index))
	}
	response.Success = true
}

// A slowListener is the end of a slow line.
type slowListener struct {
	net.Listener
	bandwidth int64
}

func (l slowListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	conn.(*net.TCPConn).SetReadBuffer(64 << 10) // what waits in the system has been sent
	return netsim.NewConn(conn, netsim.Options{In: netsim.Direction{Bandwidth: l.bandwidth}}), nil
}
