package config

import "strings"

// Meant is how a message goes on that says that there is no setting of a name: which one may be meant. It is
// empty when none is near.
func (c *Config) Meant(name string) string {
	for _, s := range c.Secrets() {
		if s.Name == name {
			return ": it is secret, and comes from the environment only, as " + s.Env()
		}
	}
	var names []string
	for _, s := range c.Settings() {
		names = append(names, s.Name)
	}
	if near := Nearest(strings.ToLower(name), names); near != "" {
		return "; there is " + near
	}
	return ""
}

// Nearest returns the name that takes the fewest typing errors to become this one, "" when
// it would be more than one in three letters.
func Nearest(name string, names []string) (near string) {
	least := 0
	for _, other := range names {
		n := typingErrors(name, other)
		if n <= max(1, len(other)/3) && (near == "" || n < least) {
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
