package cli

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
)

const (
	demoStream = "demo/clip"
	// demoBegin is how long a node may take to listen, demoEnd how long to end.
	demoBegin = 30 * time.Second
	demoEnd   = 10 * time.Second
)

// demoHost is where the nodes listen. Tests have another address: while a node is killed, any
// program may get its port.
var demoHost = "127.0.0.1"

func (a App) clusterDemo() *cobra.Command {
	var within time.Duration
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run three nodes on this machine, with a clip to watch on each",
		Long: `demo starts three nodes, a, b and c, as processes of this program on loopback ports
that are free, and publishes a clip to the first that runs. Watch it on any.

Type a, b or c and Enter to kill that node, and again to restart it; q ends the demo.
So do an interrupt, the end of the input or of what reads the output, and --for. All that it
started ends with it.`,
		Example: "  sluice cluster demo",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			// The nodes have to end also when the terminal goes away, or what reads the output.
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
			defer stop()
			if within > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, within)
				defer cancel()
			}
			if err := a.runDemo(ctx, os.Stdin); err != nil {
				return fail(fmt.Errorf("cluster demo: %w", err))
			}
			return nil
		},
	}
	cmd.Flags().DurationVar(&within, "for", 0, "end after this `time`; 0 for none")
	bound(cmd.Flags(), "for", &within, 0, 365*24*time.Hour)
	return cmd
}

// A demo is three nodes and a publisher.
type demo struct {
	out io.Writer
	env []string

	mu    sync.Mutex
	nodes []*demoNode
}

// A demoNode is one process. Its addresses stay when it starts again.
type demoNode struct {
	name string
	at   map[string]string
	cmd  *exec.Cmd     // nil: it does not run
	done chan struct{} // closed when the process has ended
}

// runDemo runs until ctx is done, or in ends or has the line q.
func (a App) runDemo(ctx context.Context, in io.Reader) error {
	d := &demo{out: a.Stdout, env: demoEnvironment()}
	defer d.end()
	for _, name := range []string{"a", "b", "c"} {
		d.nodes = append(d.nodes, &demoNode{name: name})
	}
	for _, n := range d.nodes {
		if err := d.start(n); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var publishing sync.WaitGroup
	publishing.Go(func() { d.publish(ctx) })
	defer publishing.Wait()
	defer cancel()
	fmt.Fprintln(d.out, "\nType a, b or c and Enter to kill a node, and again to restart it; q ends.")
	lines := make(chan string)
	go func() { // ends with the process when in does not
		defer close(lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			select {
			case lines <- strings.TrimSpace(s.Text()):
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case line, ok := <-lines:
			if !ok || line == "q" {
				return nil
			}
			if err := d.toggle(line); err != nil {
				fmt.Fprintln(d.out, err)
			}
		}
	}
}

// demoEnvironment is this process's, without settings of the relay, and with a secret.
func demoEnvironment() []string {
	drop := map[string]bool{"SLUICE_CONFIG": true}
	for _, name := range config.SecretVariables() {
		drop[name] = true
	}
	var c config.Config
	for _, s := range c.Settings() {
		drop[s.Env()] = true
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return drop[name]
	})
	return append(env, "SLUICE_CLUSTER_SECRET="+rand.Text()+rand.Text())
}

// start starts a node, and returns when it listens.
func (d *demo) start(n *demoNode) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"serve", "--json", "--log-level", "error", "--cluster", "--node-name", n.name, "--rtsp", "off", "--srt", "off", "--webrtc", "off"}
	for _, name := range []string{"cluster-address", "http", "rtmp"} {
		args = append(args, "--"+name, cmp.Or(n.at[name], demoHost+":0"))
	}
	for _, o := range d.nodes {
		if o != n && o.at != nil {
			args = append(args, "--join", o.at["cluster-address"])
		}
	}
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Stderr = d.env, d.out
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	d.mu.Lock()
	n.cmd, n.done = cmd, done
	d.mu.Unlock()
	kill := time.AfterFunc(demoBegin, func() { cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	kill.Stop()
	var ready serveReady
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	at := map[string]string{"http": ready.HTTP, "rtmp": ready.RTMP, "cluster-address": ready.Cluster}
	go func() {
		defer close(done)
		_ = cmd.Wait() // that it was killed is no error here
	}()
	if err != nil || at["http"] == "" {
		return fmt.Errorf("node %s does not start: %w", n.name, cmp.Or(err, errors.New("no address")))
	}
	d.mu.Lock()
	n.at = at
	d.mu.Unlock()
	fmt.Fprintf(d.out, "node %s  watch http://%s/?stream=%s  or rtmp://%s/%s\n", n.name, at["http"], demoStream, at["rtmp"], demoStream)
	return nil
}

// running reports whether a node's process runs.
func (n *demoNode) running() bool {
	if n.cmd == nil {
		return false
	}
	select {
	case <-n.done:
		return false
	default:
		return true
	}
}

// toggle kills the node of that name, or starts it again.
func (d *demo) toggle(name string) error {
	i := slices.IndexFunc(d.nodes, func(n *demoNode) bool { return n.name == name })
	switch {
	case name == "":
		return nil
	case i < 0:
		return fmt.Errorf("there is no node %.20q: a, b, c, or q to end", name)
	case !d.nodes[i].running():
		return d.start(d.nodes[i])
	}
	d.nodes[i].cmd.Process.Kill()
	<-d.nodes[i].done
	fmt.Fprintf(d.out, "node %s is killed\n", name)
	return nil
}

// end ends all nodes.
func (d *demo) end() {
	for _, n := range d.nodes {
		if n.running() && n.cmd.Process.Signal(syscall.SIGTERM) != nil {
			n.cmd.Process.Kill() // where there are no signals
		}
	}
	late := time.NewTimer(demoEnd)
	defer late.Stop()
	for _, n := range d.nodes {
		if n.cmd == nil {
			continue
		}
		select {
		case <-n.done:
		case <-late.C:
			for _, n := range d.nodes {
				if n.running() {
					n.cmd.Process.Kill()
				}
			}
			<-n.done
		}
	}
	fmt.Fprintln(d.out, "all nodes have ended")
}

// publish publishes the clip, again and again, to the first node that runs, until ctx is
// done.
func (d *demo) publish(ctx context.Context) {
	for ctx.Err() == nil {
		for _, n := range d.nodes {
			d.mu.Lock()
			up, at := n.running() && n.at != nil, n.at["http"]
			d.mu.Unlock()
			if !up {
				continue
			}
			fmt.Fprintf(d.out, "the clip is published to node %s\n", n.name)
			if err := publishClip(ctx, "http://"+at+"/"+demoStream+".flv"); err != nil && ctx.Err() == nil {
				fmt.Fprintf(d.out, "the publisher has lost node %s\n", n.name)
			}
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second / 2):
		}
	}
}
