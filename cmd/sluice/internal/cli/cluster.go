package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/cluster"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
)

func (a App) cluster() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cluster",
		Short:   "Look at a cluster of relays, or try one",
		Example: "  sluice cluster status",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.clusterStatus(), a.clusterDemo())
	return cmd
}

func (a App) clusterStatus() *cobra.Command {
	var node string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show nodes, streams, who pulls what from whom, and what is wrong",
		Long: `status asks a node for what it knows of its cluster: the nodes, their viewers and
streams, which node pulls a stream from which, and what is wrong. The API token, if the
node asks for one, is that in SLUICE_API_TOKEN.

Exit codes: 0 nothing is wrong; 1 something is, or the node does not answer; 2 wrong
command line.`,
		Example: "  sluice cluster status --url http://127.0.0.1:8080",
		Args:    noArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			at, err := nodeURL(node)
			if err != nil {
				return err
			}
			text, err := askCluster(at, os.Getenv(config.EnvAPIToken))
			if err != nil {
				return fail(fmt.Errorf("cluster status: %w", err))
			}
			var s cluster.Status
			if err := json.Unmarshal(text, &s); err != nil {
				return fail(fmt.Errorf("cluster status: %w", err))
			}
			if asJSON {
				_, err = a.Stdout.Write(text)
			} else {
				err = printCluster(a.Stdout, s)
			}
			if err != nil {
				return fail(err)
			}
			if len(s.Problems) > 0 {
				return &exitError{code: ExitFailure}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&node, "url", "http://127.0.0.1:8080", "`URL` of a node's HTTP listener, or HOST:PORT")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what /api/cluster answers")
	return cmd
}

// nodeURL returns the URL that text means.
func nodeURL(text string) (string, error) {
	at := text
	if !strings.Contains(at, "://") {
		at = "http://" + at
	}
	if u, err := url.Parse(at); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("--url: %q is not of the form http://HOST:PORT", text)
	}
	return strings.TrimSuffix(at, "/"), nil
}

// maxStatus is the longest answer that is read, in bytes.
const maxStatus = 64 << 20

func askCluster(at, token string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), healthWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"/api/cluster", nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxStatus))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		var answer struct{ Error string }
		if json.Unmarshal(text, &answer) != nil || answer.Error == "" {
			return nil, errors.New(resp.Status)
		}
		return nil, errors.New(answer.Error)
	}
	return text, nil
}

func printCluster(w io.Writer, s cluster.Status) error {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "NODE\tADDRESS\tVIEWERS\tLOAD\tSTREAMS\tLAST HEARD")
	for _, n := range s.Nodes {
		heard := n.Silent.Round(time.Millisecond).String() + " ago"
		if n.Self {
			heard = "this node"
		}
		if n.Drains {
			heard += ", draining"
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%.0f %%\t%d\t%s\n", n.Name, n.URL, n.Viewers, 100*n.Load, n.Streams, heard)
	}
	fmt.Fprintln(table, "\nSTREAM\tNODE\tFROM\tVIEWERS\tKBIT/S")
	for _, h := range s.Streams {
		from := "publisher " + h.Publisher
		switch {
		case h.Level > 0:
			from = "node " + h.From
		case h.Waiting:
			from += ", stands by"
		case !h.Winner:
			from += ", which has to go"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\n", h.Stream, h.Node, from, h.Viewers, h.Bitrate/1000)
	}
	for _, problem := range s.Problems {
		fmt.Fprintf(table, "\nwrong: %s\n", problem)
	}
	return table.Flush()
}
