package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func (a App) version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of the program and of Go",
		Example: "  sluice version",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			if _, err := fmt.Fprintln(a.Stdout, versionLine()); err != nil {
				return fail(err)
			}
			return nil
		},
	}
}

// versionLine is what version and --version print.
func versionLine() string {
	return fmt.Sprintf("sluice %s %s %s/%s", buildVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return versionOf(info)
}

// versionOf is the module's version for an installed program, with the commit where
// the build knows it and the version does not have it.
func versionOf(info *debug.BuildInfo) string {
	version := info.Main.Version
	if version == "" || version == "(devel)" {
		version = "devel"
	}
	var revision, modified string
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				modified = "+changes"
			}
		}
	}
	if len(revision) > 12 && !strings.Contains(version, revision[:12]) {
		version += " " + revision[:12] + modified
	}
	return version
}
