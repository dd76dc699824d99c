// Command resume keeps a table with the state of each object in a file, and updates it at
// each run: first from the status entries, then from the events since. It may be killed at
// any moment: it neither loses an event nor counts one twice.
//
//	NATS_URL=nats://127.0.0.1:4222 go run ./docs/examples/resume --cluster local --state /tmp/table.json
//	go run ./docs/examples/resume --cluster prod --namespace team-a --state /tmp/table.json --once
//
// One file holds the table and the position in the stream, so one rename updates both. A
// program with a database would update both in one transaction.
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
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "resume:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("resume", flag.ContinueOnError)
	url := flags.String("url", os.Getenv("NATS_URL"), "NATS server; NATS_URL in the environment")
	creds := flags.String("creds", os.Getenv("NATS_CREDS"), "NATS credentials file; NATS_CREDS in the environment")
	inbox := flags.String("inbox-prefix", "", "prefix of the inbox for replies, for example _INBOX_reader; required if permissions restrict replies to it")
	var o options
	flags.StringVar(&o.cluster, "cluster", "", "the cluster's name on the bus")
	flags.StringVar(&o.namespace, "namespace", "*", "one namespace, or * for all")
	flags.StringVar(&o.file, "state", "", "file with the table and the position in the stream")
	flags.BoolVar(&o.once, "once", false, "exit at the end of the stream")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if *url == "" || o.cluster == "" || o.file == "" {
		return errors.New("set NATS_URL or --url, --cluster and --state")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	nc, err := connect(*url, *creds, *inbox)
	if err != nil {
		return err
	}
	defer nc.Close()
	return resume(ctx, nc, o, os.Stdout)
}

// connect retries without a limit: the bus may be down.
func connect(url, creds, inbox string) (*nats.Conn, error) {
	opts := []nats.Option{
		nats.Name("resume"),
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
		return nil, fmt.Errorf("connect: %w", err)
	}
	return nc, nil
}
