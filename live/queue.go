package live

// A queue is what the kernel holds for a connection, in bytes.
type queue struct {
	unacked int     // given to it and not acknowledged by the peer
	unsent  int     // of these, not on their way yet
	rate    float64 // bytes/s that reach the peer when there are enough; 0: not known
}
