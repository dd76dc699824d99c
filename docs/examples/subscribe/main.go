// Command subscribe prints the events of the resources that Flotilla manages. It needs
// only the contract module and a NATS client:
//
//	NATS_URL=nats://127.0.0.1:4222 go run ./docs/examples/subscribe
//	go run ./docs/examples/subscribe --subject 'flotilla.lifecycle.v1.*.team-a.>' --since 1h
//	go run ./docs/examples/subscribe --subject 'flotilla.change.v1.>'
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "subscribe:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("subscribe", flag.ContinueOnError)
	url := flags.String("url", os.Getenv("NATS_URL"), "NATS server; NATS_URL in the environment")
	creds := flags.String("creds", os.Getenv("NATS_CREDS"), "NATS credentials file; NATS_CREDS in the environment")
	inbox := flags.String("inbox-prefix", "", "prefix of the inbox for replies, for example _INBOX_reader; required if permissions restrict replies to it")
	subject := flags.String("subject", contract.LifecyclePrefix+".>", "lifecycle or change subjects of the events, with wildcards")
	since := flags.Duration("since", 0, "age of the first event, for example 1h; 0 starts with the next event")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if *url == "" {
		return errors.New("set NATS_URL or --url")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	nc, err := connect(*url, *creds, *inbox)
	if err != nil {
		return err
	}
	defer nc.Close()
	return subscribe(ctx, nc, options{subject: *subject, since: *since}, os.Stdout)
}

// connect retries without a limit: the bus may be down.
func connect(url, creds, inbox string) (*nats.Conn, error) {
	opts := []nats.Option{
		nats.Name("subscribe"),
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(time.Second),
		nats.PingInterval(10 * time.Second),
	}
	if creds != "" {
		opts = append(opts, nats.UserCredentials(creds))
	}
	if inbox != "" {
		opts = append(opts, nats.CustomInboxPrefix(inbox))
	}
	nc, err := nats.Connect(url, opts...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", url, err)
	}
	return nc, nil
}
