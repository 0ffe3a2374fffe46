package directory

// A Policy says who has a name that several nodes publish.
type Policy string

const (
	Refuse  Policy = "refuse"  // the first has it; a later one is ended
	Replace Policy = "replace" // the latest has it; the earlier one is ended
	Standby Policy = "standby" // the first has it; the others wait to take its place
)

// A Rank orders the publications of one name.
type Rank struct {
	Epoch uint64
	Node  string
}

// Before reports whether r came before o. It is a total order over all nodes.
func (r Rank) Before(o Rank) bool {
	if r.Epoch != o.Epoch {
		return r.Epoch < o.Epoch
	}
	return r.Node < o.Node
}

// beats reports whether r wins over o.
func (p Policy) beats(r, o Rank) bool {
	if p == Replace {
		return o.Before(r)
	}
	return r.Before(o)
}
