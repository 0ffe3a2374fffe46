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
	known := []string{envConfig}
	for _, s := range slices.Concat(c.Settings(), c.Secrets()) {
		known = append(known, s.Env())
	}
	// Of a program that runs for a stream, and of a successor: what it starts may be this program.
	given := []string{"SLUICE_STREAM", "SLUICE_APP", "SLUICE_NAME", "SLUICE_URL", envUpgrade}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, envPrefix) || strings.HasPrefix(name, "SLUICE_TEST_") ||
			slices.Contains(known, name) || slices.Contains(given, name) || ofService(name, value) || mentions(c, "${"+name+"}") {
			continue
		}
		list = append(list, strayVariable{name, nearest(name, known)})
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

// nearest returns the name that takes the fewest typing errors to become this one, "" when
// it would be more than one in three letters.
func nearest(name string, names []string) (near string) {
	least := 0
	for _, other := range names {
		n := typingErrors(strings.TrimPrefix(name, envPrefix), strings.TrimPrefix(other, envPrefix))
		if n <= max(1, (len(other)-len(envPrefix))/3) && (near == "" || n < least) {
			near, least = other, n
		}
	}
	return near
}

// typingErrors is how many letters that lack, are too many, are others or have changed places
// with the next lie between two words.
func typingErrors(a, b string) int {
	// Rows of the distances between the beginnings of a and of b.
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			other := 1
			if a[i] == b[j] {
				other = 0
			}
			n := min(last[j+1]+1, row[j]+1, last[j]+other)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				n = min(n, before[j-1]+1)
			}
			row[j+1] = n
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
