// Package config is the configuration of the relay: every setting is declared
// once, by a field and a row beside it in the file of its group, and from that
// row come its flag, its key in a file, its environment variable, its help, its
// limits and what a reload does with it.
//
// A Config is plain data. It may be read by any goroutine and changed by one
// before others have it.
package config
