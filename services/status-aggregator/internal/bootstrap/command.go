package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/kube/service"
)

// Name is the name of the command, clientName that of its NATS client.
const (
	Name       = "bus"
	clientName = "bootstrap"
)

const (
	// connectTimeout bounds the connection attempts; the client itself retries without limit.
	connectTimeout = 15 * time.Second
	connectPoll    = 50 * time.Millisecond
	requestTimeout = time.Minute
	closeTimeout   = 5 * time.Second
)

// Commands returns the command for [service.Spec].
func Commands() map[string]service.Command {
	f := &flags{}
	return map[string]service.Command{Name: {
		Help:  "bus bootstrap|verify|consumer NAME: create or compare the streams and the bucket, create a consumer for a tool",
		Flags: f.add,
		Run: func(ctx context.Context, o service.Options, args []string) error {
			return f.run(ctx, o, args, os.Stdout)
		},
	}}
}

func (f *flags) run(ctx context.Context, o service.Options, args []string, out io.Writer) (err error) {
	do, err := f.choose(args)
	if err != nil {
		return err
	}
	conn, err := connect(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		err = errors.Join(err, conn.Close(ctx))
	}()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return explain(do(ctx, conn.JetStream(), out), conn.JetStream().Conn().LastError())
}

// work implements one of the subcommands.
type work func(ctx context.Context, js jetstream.JetStream, out io.Writer) error

// choose validates the command line before it connects.
func (f *flags) choose(args []string) (work, error) {
	if len(args) == 0 {
		return nil, errors.New("bus: want a subcommand: bootstrap, verify or consumer NAME, see --help")
	}
	tail := args[1:]
	switch {
	case args[0] == "consumer" && len(tail) == 1:
		cfg, err := f.consumer(tail[0])
		if err != nil {
			return nil, err
		}
		return cfg.create, nil
	case args[0] == "consumer":
		return nil, errors.New("bus consumer: want one argument, the name of the tool")
	case len(tail) > 0:
		return nil, fmt.Errorf("bus %s: unexpected argument %q", args[0], tail[0])
	case args[0] == "bootstrap":
		return f.bootstrap, f.check()
	case args[0] == "verify":
		return f.verify, f.check()
	}
	return nil, fmt.Errorf("bus %s is not known: bootstrap, verify or consumer NAME", args[0])
}

// connect waits until a server has accepted the credentials.
func connect(ctx context.Context, o service.Options) (*bus.Conn, error) {
	cfg, err := o.Bus(clientName, logr.FromContextOrDiscard(ctx).V(1))
	if err != nil {
		return nil, err
	}
	conn, err := bus.Connect(cfg)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	ticker := time.NewTicker(connectPoll)
	defer ticker.Stop()
	for !conn.Connected() {
		select {
		case <-ctx.Done():
			return nil, errors.Join(
				explain(fmt.Errorf("connect to the bus: %w", ctx.Err()), conn.JetStream().Conn().LastError()),
				conn.Close(ctx))
		case <-ticker.C:
		}
	}
	return conn, nil
}

// explain adds the last error that the server reported: rejected requests get no response.
func explain(err, cause error) error {
	if err == nil || cause == nil || errors.Is(err, cause) {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) {
		return fmt.Errorf("%w; last error of the server: %w", err, cause)
	}
	return err
}
