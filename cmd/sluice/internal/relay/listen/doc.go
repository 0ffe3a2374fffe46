// Package listen is what the listeners of the relay have in common, before any
// protocol begins: the certificate, which is read again when its files change;
// the true address of a connection or a request that came through proxies; and
// the places that connections hold until they have made a request.
//
// Its types are safe for concurrent use.
package listen
