package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (a *App) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "version",
		Short:             "Show the version of the plugin",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			version, revision := "(unknown)", ""
			if info, ok := debug.ReadBuildInfo(); ok {
				version, revision = built(info)
			}
			_, err := fmt.Fprintf(a.Streams.Out, "kubectl-flotilla %s%s, %s, %s/%s\n", version, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			if err != nil {
				return fmt.Errorf("write the version: %w", err)
			}
			return nil
		},
	}
}

// built reads the version of a binary: that of its module, and the commit where the binary knows one.
func built(info *debug.BuildInfo) (version, revision string) {
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			revision = " (" + s.Value[:min(12, len(s.Value))] + ")"
		}
	}
	return info.Main.Version, revision
}
