package mem

import "runtime/pprof"

// profileName is the pprof profile of all watched references that are
// outstanding, with the stacks that took them: go tool pprof shows it from
// /debug/pprof/sluice_bufs of a program that serves net/http/pprof.
const profileName = "sluice_bufs"

var profile = newProfile()

func newProfile() *pprof.Profile {
	// Two copies of this package in one program share the profile.
	if p := pprof.Lookup(profileName); p != nil {
		return p
	}
	return pprof.NewProfile(profileName)
}
