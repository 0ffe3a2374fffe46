package cli

import "github.com/spf13/cobra"

func (a App) load() *cobra.Command {
	return &cobra.Command{Use: "load address", Short: "Not there yet", Hidden: true, RunE: noArgs}
}
