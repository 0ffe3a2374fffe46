package scenarios

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/lab/internal/child"
	"github.com/sluice-go/sluice/lab/internal/relay"
)

var _ = registerChild("relay-floor", relayFloor)

// relayFloor is the child that relays as barely as can be.
func relayFloor(args []string) error {
	if err := childArgs("relay-floor", args, "FORM", "WINDOW"); err != nil {
		return err
	}
	window, err := time.ParseDuration(args[1])
	if err != nil {
		return fmt.Errorf("scenarios: a window of %s", strconv.Quote(args[1]))
	}
	child.Expire(childLife)
	runtime.GOMAXPROCS(1)
	return relay.ServeFloor(args[0], window, os.Stdin, os.Stdout)
}

var _ = registerChild("relay-load", relayLoad)

// relayLoad is the child that publishes and looks.
func relayLoad(args []string) error {
	if err := childArgs("relay-load", args); err != nil {
		return err
	}
	child.Expire(childLife)
	return relay.RunLoad(os.Stdin, os.Stdout)
}
