package cli

import "github.com/spf13/cobra"

func (a App) diagnose() *cobra.Command {
	return &cobra.Command{Use: "diagnose scenario", Short: "Not there yet", Hidden: true, RunE: noArgs}
}
