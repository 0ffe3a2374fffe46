package cli

import (
	"errors"
	"os"
	"runtime"
	"runtime/pprof"
)

// profiled calls work between the start and the end of the profiles that are
// asked for.
func profiled(cpuPath, memPath string, work func()) (err error) {
	if cpuPath != "" {
		file, err := os.Create(cpuPath)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	work()
	if memPath != "" {
		file, err := os.Create(memPath)
		if err != nil {
			return err
		}
		runtime.GC() // the profile shows what the last collection knew
		return errors.Join(pprof.Lookup("allocs").WriteTo(file, 0), file.Close())
	}
	return nil
}
