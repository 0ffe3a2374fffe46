package relay

import "github.com/sluice-go/sluice/cmd/sluice/internal/relay/record"

// attach makes what the configuration asks for beside the server itself: the
// recordings and the origin.
func (s *Server) attach() error {
	if s.config().Record != "" {
		files, err := record.New(record.Options{Dir: s.config().Record, Logger: s.log})
		if err != nil {
			return err
		}
		s.recorder = newRecordings(files)
	}
	if s.config().Origin != "" {
		puller, err := newOrigin(s, s.config().Origin, nil)
		if err != nil {
			return err
		}
		s.puller = puller
	}
	return nil
}
