//go:build !linux

package command

// wait waits for the command's end, and kills what it has left behind.
func (g *group) wait() error {
	err := g.cmd.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	signalGroup(g.cmd, killed)
	g.over = true
	return err
}
