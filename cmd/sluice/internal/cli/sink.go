package cli

import "github.com/spf13/cobra"

func (a App) sink() *cobra.Command {
	return &cobra.Command{Use: "sink address", Short: "Not there yet", Hidden: true, RunE: noArgs}
}
