// Command live-server takes live streams from publishers by RTMP and sends each to any number
// of players, from its newest key frame on. It shows how packages rtmp and live go together: who
// writes to a player's connection, how its commands are answered meanwhile, how a stream ends.
//
//	ffmpeg -re -i clip.mp4 -c copy -f flv rtmp://127.0.0.1/live/s
//	ffplay rtmp://127.0.0.1/live/s
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/amf0"
	"github.com/sluice-go/sluice/flv"
	"github.com/sluice-go/sluice/live"
	"github.com/sluice-go/sluice/mem"
	"github.com/sluice-go/sluice/rtmp"
)

const (
	begins = 10 * time.Second // for a client to say what it wants
	silent = 10 * time.Second // the longest pause of a publisher, also in reading answers
	pause  = time.Second / 10 // after a client that could not be accepted

	leastRing = 256 << 10 // bytes that a stream may keep, however many there are
)

var (
	errFull       = errors.New("no room for another stream")
	errUnfinished = errors.New("too many bytes of unfinished messages")
)

func main() {
	addr := flag.String("addr", "127.0.0.1:1935", "listen on this `address`")
	memory := flag.Int64("memory", 256<<20, "streams keep half of so many `bytes`, messages that have come in part a quarter")
	flag.Parse()
	if flag.NArg() > 0 || *memory < 4<<20 {
		log.Fatalf("live-server: want no arguments but flags, and memory of 4 MiB at least, got %q", os.Args[1:])
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatalf("live-server: %v", err)
	}
	fmt.Println("listening on", l.Addr())
	serve(ctx, l, mem.Default(), *memory)
}

type server struct {
	memory *mem.Allocator
	hub    *live.Hub
	writer *live.Writer
	end    []byte

	publishing sync.Mutex
	streams    int          // at most
	partly     int64        // bytes of unfinished messages of all clients, at most
	unfinished atomic.Int64 // and now
}

// serve serves clients until ctx is done, and returns when all are gone.
func serve(ctx context.Context, l net.Listener, memory *mem.Allocator, bytes int64) {
	s := &server{
		memory: memory,
		hub:    live.NewHub(live.HubOptions{Stream: live.StreamOptions{Allocator: memory}, Memory: bytes / 2}),
		writer: live.NewWriter(live.WriterOptions{}),
		end:    playEnd(),

		streams: int(bytes / 2 / leastRing),
		partly:  bytes / 4,
	}
	defer context.AfterFunc(ctx, func() { l.Close() })()
	var clients sync.WaitGroup
	for {
		conn, err := l.Accept()
		if err != nil && ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
			log.Print(err) // descriptors have run out, for example: those who are here go on
			time.Sleep(pause)
			continue
		}
		if err != nil {
			break
		}
		clients.Go(func() {
			err := s.client(ctx, conn)
			conn.Close()
			log.Printf("%v: %v", conn.RemoteAddr(), cmp.Or(err, io.EOF)) // nil: it has said that it ends
		})
	}
	s.hub.Close() // players get what is left, and the end
	limit, stop := context.WithTimeout(context.Background(), 2*time.Second)
	defer stop()
	if s.writer.Shutdown(limit) != nil {
		log.Print("slow players were cut off")
	}
	clients.Wait()
}

func (s *server) client(ctx context.Context, conn net.Conn) error {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	r := sluice.NewBufReader(conn, sluice.Options{Allocator: s.memory})
	defer r.Recycle()
	w := sluice.NewBufWriter(conn, sluice.Options{Allocator: s.memory})
	defer w.Recycle()
	held := 0 // of unfinished messages
	hold := func(bytes int) error {
		all := s.unfinished.Add(int64(bytes - held))
		if held = bytes; bytes > 0 && all > s.partly {
			return errUnfinished
		}
		return nil
	}
	defer hold(0)
	c := rtmp.NewConn(r, w, rtmp.Options{Limits: rtmp.Limits{Hold: hold}})
	defer c.Recycle()
	conn.SetDeadline(time.Now().Add(begins))
	if err := c.ServerHandshake(); err != nil {
		return err
	}
	req, err := c.ReadRequest()
	if err != nil {
		return err
	}
	if req.Kind == rtmp.Publish {
		return s.publish(conn, c, req)
	}
	stop() // the writer ends players
	return s.play(conn, c, req)
}

func (s *server) publish(conn net.Conn, c *rtmp.Conn, req *rtmp.Request) error {
	p, err := s.begin(req.App+"/"+req.Stream, conn)
	if err != nil {
		return errors.Join(err, c.Refuse(req, rtmp.PublishBadName, err.Error()))
	}
	defer p.Close()
	if err := c.Accept(req); err != nil {
		return err
	}
	kinds := map[rtmp.MessageType]flv.TagType{
		rtmp.TypeAudio: flv.TagAudio, rtmp.TypeVideo: flv.TagVideo, rtmp.TypeDataAMF0: flv.TagScript,
	}
	for {
		conn.SetDeadline(time.Now().Add(silent))
		m, err := c.ReadMessage()
		if err != nil {
			return err
		}
		kind, media := kinds[m.Type]
		if !media {
			action, err := c.Answer(m)
			m.Release()
			if err != nil || action == rtmp.Close {
				return err
			}
			continue
		}
		// Transferred. A frame that no player could be sent is left out.
		err = p.Publish(live.Frame{Type: kind, Time: m.Time, Payload: m.Payload})
		if err != nil && !errors.Is(err, live.ErrFrame) {
			return err
		}
	}
}

// begin makes conn the publisher of a stream, if there is room for one.
func (s *server) begin(name string, conn net.Conn) (*live.Publisher, error) {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	if s.hub.Rings() >= s.streams {
		return nil, errFull
	}
	return s.hub.Publish(name, live.PublishOptions{Name: conn.RemoteAddr().String()})
}

func (s *server) play(conn net.Conn, c *rtmp.Conn, req *rtmp.Request) error {
	stream, ok := s.hub.Stream(req.App + "/" + req.Stream)
	if !ok {
		return c.Refuse(req, rtmp.PlayStreamNotFound, "there is no such stream")
	}
	if err := c.Accept(req); err != nil {
		return err
	}
	conn.SetDeadline(time.Time{}) // the writer ends a player that takes nothing
	v, err := s.writer.Add(conn, stream, live.ViewerOptions{Form: live.FormRTMP, Trailer: s.end})
	if err != nil {
		return err
	}
	// From here on the writer alone writes to the connection, also what c answers.
	if err := c.ReplaceWriter(answers{v}); err != nil {
		v.Close(err)
	}
	for {
		m, err := c.ReadMessage()
		if err != nil {
			v.Close(live.ErrGone) // unless the writer has closed it: that is the reason then
			<-v.Done()
			return v.Err()
		}
		action, err := c.Answer(m)
		m.Release()
		switch {
		case err != nil || action == rtmp.Close:
			v.Close(err)
		case action == rtmp.Pause || action == rtmp.Resume:
			v.Pause(action == rtmp.Pause)
		}
	}
}

// answers sends what a Conn answers between two messages of a viewer.
type answers struct{ v *live.Viewer }

func (a answers) Write(p []byte) (int, error) {
	if err := a.v.Control(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// playEnd tells players that their stream is over. It is one message in one chunk with a
// header that depends on nothing before it: the same bytes for all.
func playEnd() []byte {
	status, err := rtmp.AppendCommand(nil, "onStatus", 0, nil, amf0.Object{
		{Name: "level", Value: "status"},
		{Name: "code", Value: "NetStream.Play.UnpublishNotify"},
	})
	if err != nil {
		log.Fatal(err)
	}
	const stream = 1 // Request.StreamID
	head := rtmp.AppendChunkHeader(nil, rtmp.CommandChunkStream, rtmp.TypeCommandAMF0, stream, 0, len(status))
	return append(head, status...)
}
