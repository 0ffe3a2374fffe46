package scenarios

import (
	"slices"

	"github.com/sluice-go/sluice/lab/internal/lab"
)

// All returns every scenario in the order of a report. The slices in it are
// the caller's own.
func All() []lab.Scenario {
	return slices.Concat(
		framingGroup(),
		concurrentGroup(),
		smallGroup(),
		gcGroup(),
		fanoutGroup(),
		streamingGroup(),
		streamsGroup(),
		neighboursGroup(),
		tcpGroup(),
		wrappedGroup(),
		writeBufGroup(),
		budgetGroup(),
		poolsGroup(),
		fileWriteGroup(),
		fileReadGroup(),
		rawReadGroup(),
		viewsGroup(),
		sharingGroup(),
		allocsGroup(),
		idleGroup(),
		echoGroup(),
		relayGroup(),
	)
}

// Children returns the hidden child commands by name. The program runs them
// as "Self child NAME args..."; each ends when its standard input does.
func Children() map[string]func(args []string) error {
	return map[string]func(args []string) error{
		"tcp-writer":   tcpWriter,
		"tcp-reader":   tcpReader,
		"idle-server":  idleServer,
		"idle-clients": idleClients,
		"echo-server":  echoServer,
		"echo-client":  echoClient,
		"relay-floor":  relayFloor,
		"relay-load":   relayLoad,
	}
}
