package cli

import "io"

// printed is where help and the version go. The command library writes them without saying
// whether that worked, so the first failure is kept.
type printed struct {
	io.Writer
	failed error
}

func (p *printed) Write(b []byte) (int, error) {
	n, err := p.Writer.Write(b)
	if p.failed == nil {
		p.failed = err
	}
	return n, err
}

// err returns err, or the failure to print as one that has exit code ExitFailure.
func (p *printed) err(err error) error {
	if p.failed != nil {
		return fail(p.failed)
	}
	return err
}
