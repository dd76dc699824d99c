package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/proxy"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/statusclient"
)

func (a *App) pageCommand() *cobra.Command {
	var port int
	var noBrowser bool
	c := &cobra.Command{
		Use:   "page",
		Short: "Open the status page in the browser, with your own credentials",
		Long: `Serves the status page on this machine only and opens it in the browser. Requests are forwarded with your own
credentials, so the page shows only what you may read. Press Ctrl-C to stop the server.

The address contains a key: other users of this machine and other pages in the browser cannot use it. The aggregator checks
bearer tokens. If your kubeconfig authenticates by a client certificate, name a ServiceAccount with --service-account.`,
		Example: `  kubectl flotilla page
  kubectl flotilla page --no-browser --port=8088
  kubectl flotilla page --service-account=team-a/viewer
  kubectl flotilla page --status-url=https://status.example.org`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runPage(cmd.Context(), port, noBrowser)
		},
	}
	a.apiFlags(c)
	c.Flags().IntVar(&port, "port", 0, "port on this machine; any free one by default")
	c.Flags().BoolVar(&noBrowser, "no-browser", false, "only print the address")
	return c
}

func (a *App) runPage(ctx context.Context, port int, noBrowser bool) error {
	cluster, err := a.cluster()
	if err != nil {
		return err
	}
	api, err := a.open(ctx, cluster)
	if err != nil {
		return err
	}
	if err := check(ctx, statusclient.New(api.Base, api.Transport)); err != nil {
		return err
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("open a port for the page: %w", err)
	}
	page := proxy.New(listener.Addr().String(), rand.Text(), api.Base, api.Transport)
	fmt.Fprintf(a.Streams.Out, "Status page: %s\n", page.URL())
	a.notify("The page uses your credentials: do not share the address. Press Ctrl-C to stop.")
	if !noBrowser {
		if cleanup, err := a.Browse(ctx, page.URL()); err != nil {
			a.notify("note: no browser was opened (%v); open the address yourself", err)
		} else {
			defer cleanup()
		}
	}
	return serve(ctx, listener, page)
}

// check verifies, before the browser opens, that the API accepts the credentials.
func check(ctx context.Context, client *statusclient.Client) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := client.Check(ctx)
	if apiErr := statusclient.Refused(err); apiErr != nil && apiErr.Status == http.StatusUnauthorized {
		return fmt.Errorf("%w; the API server does not accept your token, so neither does the aggregator: "+
			"name a ServiceAccount with --service-account", err)
	}
	if apiErr := statusclient.Refused(err); apiErr != nil && apiErr.Status == http.StatusForbidden {
		return nil // the page exists and lists the readable namespaces
	}
	return err
}

// serve handles requests until the context ends, which is not an error.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second,
		// Streams end with the command.
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stopped := context.AfterFunc(ctx, func() {
		if err := server.Close(); err != nil {
			return // the process ends anyway
		}
	})
	defer stopped()
	if err := server.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the page: %w", err)
	}
	return nil
}
