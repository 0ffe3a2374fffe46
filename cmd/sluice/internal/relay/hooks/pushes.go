package hooks

// PushChanged reports the state of a stream on its way to another server.
func (r Reporter) PushChanged(stream, target, state, failure string) {
	r.add(Event{Event: PushChanged, Stream: stream, Target: target, Code: state, Reason: failure})
}

// NodeJoined reports that another node of the cluster is there.
func (r Reporter) NodeJoined(node string) { r.add(Event{Event: NodeJoined, Node: node}) }

// NodeLeft reports that another node of the cluster has left, or is silent for so long
// that it is forgotten.
func (r Reporter) NodeLeft(node string, silent bool) {
	v := Event{Event: NodeLeft, Node: node, Code: "left", Reason: "it said that it ends"}
	if silent {
		v.Code, v.Reason = "silent", "nothing comes from it"
	}
	r.add(v)
}
