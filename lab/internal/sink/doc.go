// Package sink is a server that keeps what it is sent: framed records in, their
// numbers out, once they are as durable as its Store promises.
//
// A request is a 4-byte big-endian length and so many bytes, the answer 8 bytes,
// the big-endian number of the record. Answers come in the order of the requests of a
// connection, many in one write.
//
// Records stay in the memory that they were received in until they are written: a Store
// is given retained memory, transferred with the call.
//
// Stores and a Server may be used by many goroutines at once.
package sink
