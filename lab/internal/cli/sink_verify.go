package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/lab/internal/sink/verify"
	"github.com/sluice-go/sluice/lab/internal/units"
)

func (a App) sinkVerify() *cobra.Command {
	var ackedFile, jsonFile string
	cmd := command("sink verify", func(args []string) error { return a.runSinkVerify(args, ackedFile, jsonFile) })
	flags := cmd.Flags()
	flags.StringVar(&ackedFile, "acked", "", "`file` that lab load --acks wrote")
	flags.StringVar(&jsonFile, "json", "", "write the result as JSON to this `file`, - for standard output instead of the lines")
	return cmd
}

func (a App) runSinkVerify(args []string, ackedFile, jsonFile string) error {
	switch {
	case len(args) == 0:
		return errors.New("want the directories of logs")
	case jsonFile != "" && filepath.Clean(jsonFile) == filepath.Clean(ackedFile):
		return errors.New("--json and --acked name the same file")
	}
	if err := writable("json", jsonFile); err != nil {
		return err
	}
	ctx, stop := interruptible()
	defer stop()
	result, err := verify.Check(ctx, args, ackedFile)
	if err != nil {
		if ctx.Err() != nil {
			return &exitError{ExitUnusable, errors.New("sink verify: interrupted")}
		}
		return fail(fmt.Errorf("sink verify: %w", err))
	}
	if err := errors.Join(printVerified(a.people(jsonFile), result), a.putJSON(jsonFile, result)); err != nil {
		return fail(fmt.Errorf("sink verify: %w", err))
	}
	if n := result.Broken(); n > 0 {
		return fail(fmt.Errorf("sink verify: %d of %s could not be read to the end", n, units.Plural(len(result.Logs), "log")))
	}
	if result.Acked != nil && !result.Acked.Holds() {
		return &exitError{ExitMissed, nil}
	}
	return nil
}

func printVerified(w io.Writer, r *verify.Result) error {
	var b strings.Builder
	for _, l := range r.Logs {
		switch records := units.Plural(l.Records, "record"); {
		case l.Error != "":
			fmt.Fprintf(&b, "%s: NOT READABLE behind %s: %s\n", l.Dir, records, l.Error)
		case l.Records == 0:
			fmt.Fprintf(&b, "%s: no records, in %s\n", l.Dir, filesOf(l))
		default:
			fmt.Fprintf(&b, "%s: %s, %d to %s, in %s\n", l.Dir, records, l.First, units.Count(l.Last), filesOf(l))
		}
		if l.Cut > 0 {
			fmt.Fprintf(&b, "  torn: %s ends in %s that do not count: %s\n", l.Segment, units.Plural(l.Cut, "byte"), l.Reason)
		}
	}
	if k := r.Acked; k != nil {
		fmt.Fprintf(&b, "%s: %s acknowledged, %s found, %s missing, %s wrong\n", k.File,
			units.Count(k.Entries), units.Count(k.Found), units.Count(k.Missing), units.Count(k.Wrong))
		if len(r.Logs) > 1 {
			fmt.Fprintf(&b, "  in more than half of the logs: %s\n", units.Count(k.Majority))
		}
		list := func(what string, numbers []uint64, of uint64) {
			if len(numbers) > 0 {
				text := strings.Trim(fmt.Sprint(numbers), "[]")
				if uint64(len(numbers)) < of {
					text += " ..."
				}
				fmt.Fprintf(&b, "  %s: %s\n", what, text)
			}
		}
		list("missing", k.FirstMissing, k.Missing)
		list("other bytes than were acknowledged", k.FirstWrong, k.Wrong)
		if k.Holds() {
			fmt.Fprintln(&b, "what was acknowledged is a subset of what is recovered: yes")
		} else {
			fmt.Fprintln(&b, "what was acknowledged is a subset of what is recovered: NO")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func filesOf(l verify.Log) string {
	return units.Plural(l.Segments, "file") + " of " + units.Bytes(l.Bytes)
}
