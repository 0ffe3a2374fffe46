package relay

import (
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/command"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/config"
	"github.com/sluice-go/sluice/cmd/sluice/internal/relay/push"
)

// outbound is where streams go besides viewers.
type outbound struct {
	recorders *recorders
	commands  *command.Runner
	pusher    *push.Pusher
	targets   atomic.Pointer[pushTargets] // of the settings
}

// pushTargets are the targets of the settings, by their texts. A target whose text a
// reload leaves alone is the same one after it, so that what is pushed there goes on.
type pushTargets map[string]*push.Target

// next are the targets of a new configuration.
func (t pushTargets) next(c *config.Config) (pushTargets, error) {
	texts := slices.Clone(c.Push)
	for _, s := range c.Sections() {
		for _, v := range s.Values {
			if v.Name == "push" {
				texts = append(texts, strings.Split(v.Text, ",")...)
			}
		}
	}
	list := pushTargets{}
	for _, text := range texts {
		list[text] = t[text]
		if list[text] != nil || text == "" {
			continue
		}
		var err error
		if list[text], err = push.ParseTarget(text, os.Getenv); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// of returns the targets with these texts.
func (t pushTargets) of(texts []string) (list []*push.Target) {
	for _, text := range texts {
		if target := t[text]; target != nil {
			list = append(list, target)
		}
	}
	return list
}
