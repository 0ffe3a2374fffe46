package diagnose

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrSchema is returned for JSON that is no diagnosis, or one of another
// version.
var ErrSchema = errors.New("not a diagnosis of this version")

// Save writes the diagnosis as JSON, the evidence with it.
func (d *Diagnosis) Save(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	return encoder.Encode(d)
}

// Load reads what Save wrote. The error is ErrSchema for another version and
// for JSON that is something else.
func Load(r io.Reader) (*Diagnosis, error) {
	var d Diagnosis
	if err := json.NewDecoder(r).Decode(&d); err != nil {
		return nil, fmt.Errorf("diagnose: %w: %w", ErrSchema, err)
	}
	if d.Kind != Kind || d.Schema != Schema {
		return nil, fmt.Errorf("diagnose: %w: kind %q, version %d; this program reads %q, version %d", ErrSchema, d.Kind, d.Schema, Kind, Schema)
	}
	return &d, nil
}
