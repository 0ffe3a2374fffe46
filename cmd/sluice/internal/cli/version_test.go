package cli

import (
	"runtime/debug"
	"testing"
)

// The commit is named once, also where the module's version has it already.
func TestVersionNamesTheCommitOnce(t *testing.T) {
	const revision = "e5d973b9e32f0123456789abcdef0123456789ab"
	for _, c := range []struct{ version, modified, want string }{
		{"v0.2.0", "false", "v0.2.0 e5d973b9e32f"},
		{"(devel)", "true", "devel e5d973b9e32f+changes"},
		{"v0.1.1-0.20261129165647-e5d973b9e32f", "false", "v0.1.1-0.20261129165647-e5d973b9e32f"},
		{"v0.1.1-0.20261129165647-e5d973b9e32f+dirty", "true", "v0.1.1-0.20261129165647-e5d973b9e32f+dirty"},
	} {
		info := &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: c.modified}}}
		info.Main.Version = c.version
		if got := versionOf(info); got != c.want {
			t.Errorf("%s: %q, want %q", c.version, got, c.want)
		}
	}
}
