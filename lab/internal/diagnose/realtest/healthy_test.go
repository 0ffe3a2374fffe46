package realtest

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/diagnose"
	"github.com/sluice-go/sluice/lab/internal/diagnose/evidence"
)

// healthyHere are programs of the usual kinds, run in a process of their own.
var healthyHere = map[string]func(){
	"an idle HTTP server": func() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(err)
		must(http.Serve(l, http.NotFoundHandler()))
	},
	"an echo server of 16 KiB messages with four clients": func() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(err)
		for range 4 {
			go func() {
				conn, err := net.Dial("tcp", l.Addr().String())
				must(err)
				message := make([]byte, 16<<10)
				for {
					_, err := conn.Write(message)
					must(err)
					_, err = io.ReadFull(conn, message)
					must(err)
				}
			}()
		}
		for {
			conn, err := l.Accept()
			must(err)
			go func() {
				buf := make([]byte, 64<<10)
				_, err := io.CopyBuffer(struct{ io.Writer }{conn}, struct{ io.Reader }{conn}, buf)
				must(err)
			}()
		}
	},
	"a dialogue of short messages": func() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(err)
		go func() {
			conn, err := net.Dial("tcp", l.Addr().String())
			must(err)
			message := make([]byte, 100)
			for {
				_, err := conn.Write(message)
				must(err)
				_, err = io.ReadFull(conn, message)
				must(err)
			}
		}()
		conn, err := l.Accept()
		must(err)
		_, err = io.Copy(struct{ io.Writer }{conn}, struct{ io.Reader }{conn})
		must(err)
	},
	"a dialogue with a deadline for each read": func() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(err)
		talk := func(conn net.Conn) {
			message := make([]byte, 100)
			for {
				must(conn.SetReadDeadline(time.Now().Add(time.Minute)))
				_, err := io.ReadFull(conn, message)
				must(err)
				_, err = conn.Write(message)
				must(err)
			}
		}
		go func() {
			conn, err := net.Dial("tcp", l.Addr().String())
			must(err)
			_, err = conn.Write(make([]byte, 100))
			must(err)
			talk(conn)
		}()
		conn, err := l.Accept()
		must(err)
		talk(conn)
	},
	"pictures 25 times a second, each acknowledged in two pieces": func() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(err)
		for range 4 {
			go func() {
				conn, err := net.Dial("tcp", l.Addr().String())
				must(err)
				for picture := make([]byte, 1000); ; {
					_, err := io.ReadFull(conn, picture)
					must(err)
					for range 2 {
						_, err := conn.Write([]byte("done"))
						must(err)
					}
				}
			}()
		}
		for {
			conn, err := l.Accept()
			must(err)
			go io.Copy(io.Discard, conn)
			go func() {
				for range time.Tick(41 * time.Millisecond) {
					_, err := conn.Write(make([]byte, 1000))
					must(err)
				}
			}()
		}
	},
	"a pool of workers that compute": func() {
		jobs := make(chan []byte)
		for range 8 {
			go func() {
				for job := range jobs {
					for range 50 {
						sum := sha256.Sum256(job)
						copy(job, sum[:])
					}
				}
			}()
		}
		for {
			jobs <- make([]byte, 4096)
		}
	},
	"a cache behind a mutex": func() {
		var mu sync.Mutex
		cache := map[int][]byte{}
		for i := range 4 {
			go func() {
				page := make([]byte, 64<<10)
				for n := i; ; n++ {
					sum := sha256.Sum256(page)
					mu.Lock()
					cache[n%1000] = sum[:]
					mu.Unlock()
				}
			}()
		}
		select {}
	},
	"a server that makes records durable together": func() {
		file := temporary()
		type record struct {
			text [200]byte
			kept chan struct{}
		}
		records := make(chan record, 16)
		go func() {
			for first := range records {
				group := []record{first}
				for len(records) > 0 {
					group = append(group, <-records)
				}
				for _, r := range group {
					_, err := file.Write(r.text[:])
					must(err)
				}
				must(file.Sync())
				for _, r := range group {
					close(r.kept)
				}
			}
		}()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(err)
		for range 16 {
			conn, err := net.Dial("tcp", l.Addr().String())
			must(err)
			go func() {
				for question := make([]byte, 200); ; {
					askOver(conn, question)
				}
			}()
		}
		for {
			conn, err := l.Accept()
			must(err)
			go func() {
				for {
					r := record{kept: make(chan struct{})}
					_, err := io.ReadFull(conn, r.text[:])
					must(err)
					records <- r
					<-r.kept
					_, err = conn.Write(r.text[:])
					must(err)
				}
			}()
		}
	},
	"a ticker that reports once in a while": func() {
		for range time.Tick(50 * time.Millisecond) {
			fmt.Println("still here")
		}
	},
}

func runHealthy(args []string) error {
	child.Begin(10 * time.Minute)
	healthyHere[args[0]]()
	return nil
}

// healthyThere are programs that machines have. The text is a file of some megabytes.
func healthyThere(t *testing.T, text string) map[string][]string {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(filepath.Dir(text), "copy")
	shell := func(script string) []string { return []string{"sh", "-c", script} }
	return map[string][]string{
		"gzip":          shell("while :; do gzip -c " + text + " > " + out + "; done"),
		"a file copier": shell("while :; do cp " + text + " " + out + "; done"),
		// Not to a file: it writes with a lock held, which on a slow disk is worth a word.
		"sort":         shell("while :; do sort " + text + " > /dev/null; done"),
		"sha256sum":    {"sha256sum", "/dev/zero"},
		"the compiler": shell("while :; do GOCACHE=" + filepath.Dir(text) + "/cache GOFLAGS= " + goTool + " build -a -p 1 -o /dev/null fmt; done"),
		"sleep":        {"sleep", "100"},
	}
}

func TestHealthyProgramsAreNotAccused(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	var lines strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&lines, "line %d of the text with the number %d\n", i*7919%200_000, i*104729%999_983)
	}
	if err := os.WriteFile(text, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	targets := healthyThere(t, text)
	for name := range healthyHere {
		targets[name] = []string{program(t), "child", healthyChild, name}
	}
	for name, command := range targets {
		t.Run(name, func(t *testing.T) {
			target := evidence.Target{Name: name, Command: command}
			d := notAccused(t, target)
			if name != "sleep" && name != "an idle HTTP server" {
				return
			}
			// Of a program that does nothing all is known, unless it waited for a processor, whatever for.
			for looks := 1; d.Verdict() != diagnose.Clean; looks++ {
				if !crowded(&d.Evidence) {
					t.Fatalf("%s:\n%s", d.Verdict(), said(d))
				}
				if looks == mostCrowded {
					t.Skipf("others had the processors, %d times:\n%s", looks, said(d))
				}
				d = notAccused(t, target)
			}
		})
	}
}
