// Package policy holds the rules of this repository that a compiler does not
// check, as tests: which package may import which, who uses unsafe, what must
// not stand in a file, and that the two READMEs say the same. It exports
// nothing and no package imports it. Each rule has its data in a short table at
// the top of the file that is named after it; a change of the rule is a change
// of the table, which a reviewer sees.
package policy
