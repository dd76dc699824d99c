package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

// Options are the command line of an engine, and what a container gives it.
type Options struct {
	Node    int
	DataDir string
	// Addresses to listen on.
	Query, Health, Metrics string
	Version                string
	Logf                   func(format string, args ...any)
}

// metadataPoll lies between two questions to the metadata service.
const metadataPoll = time.Second

// Run is the engine. When ctx ends it refuses queries, finishes those that run within the grace period of its
// configuration, and returns; an error says that some were cut off.
func Run(ctx context.Context, o Options) error {
	config, err := Read(filepath.Join(o.DataDir, "config.yaml"))
	if err != nil {
		return err
	}
	id, err := config.Identify(o.Node, o.Version)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.DataDir, "node"), []byte(id.Pod+"\n"), 0o600); err != nil {
		return fmt.Errorf("write local data: %w", err)
	}
	q := newQueries(id, o.DataDir, o.Logf)
	failed := make(chan error, 3)
	stop, err := listen(ctx, o, q, failed)
	if err != nil {
		return err
	}
	defer stop()
	starting, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		if start(starting, config, o.Logf) == nil {
			q.setReady()
			o.Logf("ready: %+v", id)
		}
	}()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return finish(q, config.grace(), o.Logf)
	}
}

// finish waits for the queries that run.
func finish(q *queries, grace time.Duration, logf func(string, ...any)) error {
	logf("ending: queries may take %s", grace)
	q.drain()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-q.idle:
		return nil
	case <-timer.C:
		close(q.cut)
		return errors.New("the grace period is over and queries were cut off")
	}
}

// listen opens all three ports. What it returns lets answers go out before it closes them.
func listen(ctx context.Context, o Options, q *queries, failed chan<- error) (stop func(), err error) {
	query, health, metrics := http.NewServeMux(), http.NewServeMux(), http.NewServeMux()
	query.Handle("/", q)
	query.HandleFunc("/health/", q.health) // the gateway asks here
	health.HandleFunc("/health/ready", q.health)
	health.HandleFunc("/health/live", q.health)
	metrics.HandleFunc("/metrics", q.metrics)
	var servers []*http.Server
	stop = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		for _, s := range servers {
			if s.Shutdown(ctx) != nil {
				_ = s.Close() //nolint:errcheck // the process ends now
			}
		}
	}
	for _, s := range []*http.Server{{Addr: o.Query, Handler: query}, {Addr: o.Health, Handler: health}, {Addr: o.Metrics, Handler: metrics}} {
		s.ReadHeaderTimeout = 10 * time.Second
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.Addr)
		if err != nil {
			stop()
			return nil, fmt.Errorf("listen on %s: %w", s.Addr, err)
		}
		servers = append(servers, s)
		go func() {
			if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serve %s: %w", s.Addr, err)
			}
		}()
	}
	return stop, nil
}

// start returns nil when the engine may take queries: the metadata service serves, and the time is over that the
// configuration wants.
func start(ctx context.Context, c Config, logf func(string, ...any)) error {
	if err := sleep(ctx, duration(c.StandIn.ReadyAfter)); err != nil {
		return err
	}
	endpoint := c.Instance.MultiEngine.MetadataEndpoint
	conn, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("metadata service %s: %w", endpoint, err)
	}
	defer conn.Close() //nolint:errcheck // nothing is left in it
	client := healthv1.NewHealthClient(conn)
	for said := ""; ; {
		answer, err := client.Check(ctx, &healthv1.HealthCheckRequest{})
		if err == nil && answer.GetStatus() == healthv1.HealthCheckResponse_SERVING {
			return nil
		}
		if what := fmt.Sprintf("waiting for the metadata service %s: %v %v", endpoint, answer.GetStatus(), err); what != said {
			said = what
			logf("%s", what)
		}
		if err := sleep(ctx, metadataPoll); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
