package cli

import (
	"slices"
	"strings"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
)

// envPrefix is what the names of this program's variables begin with.
const envPrefix = "SLUICE_"

// A strayVariable is a variable of the environment that is named like one of this program's,
// and is none: nothing reads it.
type strayVariable struct {
	name string
	near string // the one that may be meant; "" when none is near
}

// attributes are those of a line of the log.
func (v strayVariable) attributes() []any {
	if v.near == "" {
		return []any{"variable", v.name}
	}
	return []any{"variable", v.name, "near", v.near}
}

func (v strayVariable) String() string {
	text := "$" + v.name + ": no setting has this environment variable: it is ignored"
	if v.near != "" {
		text += "; there is " + v.near
	}
	return text
}

// strayVariables returns those in environ, which is as os.Environ returns it, by name.
func strayVariables(c *config.Config, environ []string) (list []strayVariable) {
	known := []string{strings.TrimPrefix(envConfig, envPrefix)} // without the prefix
	for _, s := range slices.Concat(c.Settings(), c.Secrets()) {
		known = append(known, strings.TrimPrefix(s.Env(), envPrefix))
	}
	// Of a program that runs for a stream, and of a successor: what it starts may be this program.
	given := []string{"SLUICE_STREAM", "SLUICE_APP", "SLUICE_NAME", "SLUICE_URL", envUpgrade}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		bare, ours := strings.CutPrefix(name, envPrefix)
		if !ours || strings.HasPrefix(name, "SLUICE_TEST_") || slices.Contains(known, bare) ||
			slices.Contains(given, name) || ofService(name, value) || mentions(c, "${"+name+"}") {
			continue
		}
		near := config.Nearest(bare, known)
		if near != "" {
			near = envPrefix + near
		}
		list = append(list, strayVariable{name, near})
	}
	slices.SortFunc(list, func(a, b strayVariable) int { return strings.Compare(a.name, b.name) })
	return list
}

// mentions reports whether a setting has a text in it.
func mentions(c *config.Config, text string) bool {
	for _, s := range c.Settings() {
		if strings.Contains(s.String(), text) {
			return true
		}
	}
	for _, section := range c.Sections() {
		for _, v := range section.Values {
			if strings.Contains(v.Text, text) {
				return true
			}
		}
	}
	return false
}

// ofService reports whether a variable is one that Kubernetes gives to containers beside a
// service named sluice, or sluice-...
func ofService(name, value string) bool {
	return strings.HasSuffix(name, "_SERVICE_HOST") || strings.Contains(name, "_SERVICE_PORT") ||
		strings.Contains(name, "_PORT") && (strings.Contains(value, "://") || strings.Contains(name, "_TCP") || strings.Contains(name, "_UDP"))
}
