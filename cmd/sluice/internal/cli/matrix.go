package cli

import "github.com/spf13/cobra"

func (a App) matrix() *cobra.Command {
	return &cobra.Command{Use: "matrix grid", Short: "Not there yet", Hidden: true, RunE: noArgs}
}
