// Package listen is what the listeners of the relay have in common, before any
// protocol begins: the certificate, which is read again when its files change;
// where a connection or a request truly comes from when proxies stand in front;
// and the places that connections hold until they have made a request.
//
// Its types are for all goroutines at once.
package listen
