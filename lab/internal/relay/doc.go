// Package relay measures live relays: servers that take one stream from a
// publisher and send it to many viewers.
//
// A measurement has two processes, each on a processor of its own. The server
// under test is any program that takes RTMP from a publisher and gives RTMP or
// FLV over HTTP to viewers; what it uses is read from the system, by the number
// of its process, so that the server need not cooperate. The load is the publisher
// and all viewers in one thread over epoll, with one clock for both: what lies
// between the moment a frame was sent and the moment it was complete at a viewer
// is what the relay added.
//
// Viewers parse what comes by the library's own rtmp and flv. Each knows which frame it
// gets and notices one that is missing, comes twice or has another size; two of them
// compare every byte.
//
// A Floor is the least that such a server can do: one write for each viewer,
// of a tag or of all tags of a window. Nginx runs nginx with its RTMP module.
//
// A Clip is read-only once it is parsed. RunLoad and Floor.Serve each need a process,
// or at least a thread, of their own.
package relay
