package source

// Watched returns how many connections are looked at, and whether there is a
// goroutine that does so.
func Watched() (n int, running bool) {
	watches.mu.Lock()
	defer watches.mu.Unlock()
	return len(watches.list), watches.running
}
