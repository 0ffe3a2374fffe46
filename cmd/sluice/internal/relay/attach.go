package relay

import "github.com/sluice-go/sluice/cmd/sluice/internal/relay/record"

// attach creates the optional parts that the configuration asks for: the
// recordings and the origin.
func (s *Server) attach() error {
	if s.host.Config().Record != "" {
		files, err := record.New(record.Options{Dir: s.host.Config().Record, Index: true, Logger: s.log})
		if err != nil {
			return err
		}
		s.recordings = newRecordings(files)
		s.host.Recorder = s.recordings
	}
	if len(s.host.Config().Origin) > 0 {
		puller, err := newOrigin(s.host, s.host.Config().Origin, nil)
		if err != nil {
			return err
		}
		s.origin, s.host.Puller = puller, puller
	}
	return nil
}
