// Package config is the configuration of the relay: every setting is declared
// once, by a field and a row beside it in the file of its group. The row defines
// its flag, its key in a file, its environment variable, its help, its limits and
// whether a reload applies it.
//
// A Config is plain data. Change it before you share it with other goroutines;
// after that any goroutine may read it.
package config
