package machine

import (
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

func hardware() (cpu, kernel string) {
	v := windows.RtlGetVersion()
	return os.Getenv("PROCESSOR_IDENTIFIER"), fmt.Sprintf("%d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)
}
