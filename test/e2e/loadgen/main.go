// Command loadgen sends requests to a URL at a rate, counts every answer and serves the counts.
// In a scenario it runs as a pod next to its target, and the runner reaches it through the API server.
//
//	loadgen --url http://main-gateway.data.svc.cluster.local/ --header 'X-Firebolt-Engine: etl' --body 'SELECT 1'
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/flotilla-dev/flotilla/test/e2e/load"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "loadgen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	config, listen, err := parse(args)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	fmt.Println("loadgen: counts at", listener.Addr())
	recorder := load.NewRecorder(time.Now, "begin")
	server := &http.Server{Handler: load.Control(recorder), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	loadCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	go func() { load.Ask(loadCtx, config, recorder); close(done) }()
	select {
	case err := <-served: // no runner can read the counts without the server
		cancel()
		<-done
		return err
	case <-ctx.Done():
	}
	<-done
	return server.Close()
}

func parse(args []string) (load.Config, string, error) {
	var c load.Config
	var headers, labels []string
	var login string
	flags := pflag.NewFlagSet("loadgen", pflag.ContinueOnError)
	flags.StringVar(&c.URL, "url", "", "URL of the requests")
	flags.StringVar(&c.Method, "method", http.MethodGet, "method of the requests")
	flags.StringArrayVar(&headers, "header", nil, "header of the requests, NAME: VALUE; repeatable")
	flags.StringArrayVar(&c.Bodies, "body", nil, "body of the requests; repeatable, bodies are sent in turn")
	flags.IntVar(&c.Clients, "clients", 4, "number of concurrent clients; half of them use a new connection for each request")
	flags.Float64Var(&c.Rate, "rate", 20, "requests per second of all clients together")
	flags.DurationVar(&c.Timeout, "timeout", 10*time.Second, "timeout of a request")
	flags.StringArrayVar(&labels, "label", nil, "label of answers whose body matches, NAME=REGEXP; repeatable, the first match wins")
	flags.StringSliceVar(&c.Good, "good", nil, "labels of good answers; empty means all answers with status 200")
	flags.StringVar(&c.ExecutionURL, "execution-url", "", "URL of the path /executed of the control API, such as "+
		"http://10.0.0.1:8090/executed; servers report each request that they execute to it")
	flags.BoolVar(&c.RetryDrained, "retry-drained", false, "send a request once more if its connection was drained")
	flags.StringVar(&login, "login", "", "Superset account USER:PASSWORD, with which each client begins its own session")
	listen := flags.String("listen", ":8090", "address of the control API")
	if err := flags.Parse(args); err != nil {
		return c, "", err
	}
	var err error
	if c.Login, err = load.ParseLogin(login); err != nil {
		return c, "", err
	}
	c.Header = http.Header{}
	for _, h := range headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok || name == "" {
			return c, "", fmt.Errorf("header %q: want NAME: VALUE", h)
		}
		c.Header.Add(textproto.CanonicalMIMEHeaderKey(name), strings.TrimSpace(value))
	}
	for _, text := range labels {
		label, err := load.ParseLabel(text)
		if err != nil {
			return c, "", err
		}
		c.Labels = append(c.Labels, label)
	}
	return c, *listen, c.Validate()
}
