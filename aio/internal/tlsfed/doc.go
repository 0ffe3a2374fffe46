// Package tlsfed is the server's side of TLS connections that have no goroutine.
//
// crypto/tls reads from a connection and waits there. Here it reads from a Session,
// which is fed with what an event loop has received: one whole record at a time. When
// that is used up, the read of crypto/tls ends with a temporary error (net.Error), after
// which it goes on where it stopped when there is more. Resumes says whether the
// crypto/tls of this program does that.
//
// A handshake cannot be resumed in this way: crypto/tls keeps its first error. So it
// runs in a goroutine, one of those of Handshakes, which begins when the first record
// is there and ends with the handshake. Nothing of it stays with the connection.
//
// What a peer has sent is kept in counted memory that follows the bytes received.
// A record reaches crypto/tls when it is whole, so the length in its header alone
// allocates no memory.
package tlsfed
