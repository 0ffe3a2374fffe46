// Package handover is how a process gives its listeners and living connections to the
// one that takes its place on the same machine: messages over a Unix socket, with the
// descriptors beside them.
//
//	new                                   old
//	 | Hello: format, version, kinds ----> |   refuses here what the other cannot take
//	 | <---------------- Welcome, Listener |   and goes on serving
//	 | Ready ----------------------------> |   pauses
//	 | <------- Stream, Session ..., Whole |
//	 | Taken ----------------------------> |   lets go and ends
//
// Until Taken has been sent the old process owns everything, and goes on when anything
// fails. Taken is sent once, and either is read or cannot be sent: see Conn.GiveUp.
//
// A message is a head of 16 bytes, JSON, and bytes. Both lengths are bounded before memory
// is taken. A Conn belongs to one goroutine at a time.
package handover
