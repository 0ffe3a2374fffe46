//go:build linux

package realtest

import (
	"os"
	"strings"
	"testing"
	"time"
)

// secretNode is node with secrets, as lines of the environment.
func secretNode(t *testing.T, name string, env []string, others ...*server) *server {
	t.Helper()
	o := flags("--cluster --cluster-address 127.0.0.1:0 --webrtc off --srt off --rtsp off --node-name " + name)
	o.env = env
	for _, s := range others {
		o.flags = append(o.flags, "--join", s.Cluster)
	}
	return serve(t, o)
}

// The secret of a cluster is changed on one node after another, as the documentation has it:
// after each restart both nodes know each other, and the stream of one is watched on the other.
func TestClusterSecretIsChanged(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../../docs/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	const used, accepted = "SLUICE_CLUSTER_SECRET", "SLUICE_CLUSTER_SECRET_ACCEPT"
	if !strings.Contains(string(page), accepted) {
		t.Errorf("the documentation does not name %s", accepted)
	}
	old := strings.TrimPrefix(clusterEnv(t), used+"=")
	next := "after " + old
	first := []string{used + "=" + old}
	a := secretNode(t, "a", first)
	b := secretNode(t, "b", first, a)
	publisher := encode(t, 'a', a.HTTP)
	for i, env := range [][]string{
		{used + "=" + old, accepted + "=" + next},
		{used + "=" + next, accepted + "=" + old},
		{used + "=" + next},
	} {
		for _, name := range []string{"a", "b"} {
			if name == "a" {
				a.stop(t)
				a = secretNode(t, "a", env, b)
				publisher.to.Store(&a.HTTP)
			} else {
				b.stop(t)
				b = secretNode(t, "b", env, a)
			}
			for _, s := range []*server{a, b} {
				s.awaitCluster(t, 2, "live/s", "a")
			}
			b.observe(t, "flv").sees(t, 'a', 3)
			var c clusterStatus
			if a.get(t, "/api/cluster", &c); len(c.Problems) > 0 {
				t.Errorf("step %d, after the restart of %s: %q", i, name, c.Problems)
			}
		}
	}
	// What has the old one only stays outside, and says so.
	x := secretNode(t, "x", first, a)
	eventually(t, lengthened(20*time.Second), func() string {
		var c clusterStatus
		if x.get(t, "/api/cluster", &c); !strings.Contains(strings.Join(c.Problems, "; "), "another secret") {
			return "no problem is reported"
		}
		return ""
	})
	x.awaitCluster(t, 1, "live/s", "")
	a.awaitCluster(t, 2, "live/s", "a")
}
