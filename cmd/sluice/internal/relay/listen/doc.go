// Package listen is what the listeners of the relay have in common, before any
// protocol begins: the certificate, which is read again when its files change.
package listen
