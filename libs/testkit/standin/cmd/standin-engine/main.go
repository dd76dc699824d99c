// Command standin-engine is a stand-in engine (package server) as a process of its own.
// It says "ready" once it listens, and ends on SIGTERM when its queries have.
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

	"github.com/flotilla-dev/flotilla/libs/testkit/standin/server"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var (
		ports   server.Ports
		address = flag.String("address", "127.0.0.1", "address to listen on")
		grace   = flag.Duration("grace", time.Minute, "how long queries may run after SIGTERM")
	)
	flag.IntVar(&ports.Query, "query-port", 3473, "port of queries")
	flag.IntVar(&ports.Health, "health-port", 8122, "port of health and control")
	flag.IntVar(&ports.Metrics, "metrics-port", 9090, "port of metrics")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s, err := server.Listen(ctx, *address, ports)
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	fmt.Println("ready")
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	bounded, cancel := context.WithTimeout(context.Background(), *grace)
	defer cancel()
	return errors.Join(s.Drain(bounded), s.Close())
}
