package scenarios

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const (
	relayPackage = "github.com/sluice-go/sluice/cmd/sluice"
	// relayProgramEnv names the program of the relay that is measured, another
	// version's say.
	relayProgramEnv = "LAB_SLUICE"
)

// relayProgram is the path of the relay's program: the one that the environment
// names, or one built of the tree that the working directory is in, put into dir,
// or the one in PATH.
func relayProgram(dir string) (string, error) {
	if path := os.Getenv(relayProgramEnv); path != "" {
		return path, nil
	}
	binary := filepath.Join(dir, "sluice")
	said, err := exec.Command("go", "build", "-ldflags=-w", "-o", binary, relayPackage).CombinedOutput()
	if err == nil {
		return binary, nil
	}
	path, notHere := exec.LookPath("sluice")
	if notHere != nil {
		return "", fmt.Errorf("scenarios: the relay's program is not in PATH, %s does not name it, and it cannot be built here: %w",
			relayProgramEnv, errors.Join(err, errors.New(string(said))))
	}
	return path, nil
}
