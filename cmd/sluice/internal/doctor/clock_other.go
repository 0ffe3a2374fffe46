//go:build !linux

package doctor

func clock() Finding { return Finding{Unknown, "clock", "not known on this system"} }
