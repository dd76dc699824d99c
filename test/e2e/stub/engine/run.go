package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/flotilla-dev/flotilla/libs/testkit/stubengine/server"
)

// settleTime is the sum of the interval and the timeout of the gateway's health checks.
const settleTime = 1500 * time.Millisecond

// metadataPoll is the interval of health checks of the metadata service.
const metadataPoll = time.Second

// Run runs the engine stub of a node with the config.yaml of its data directory, which sets the identity, the grace period
// and the start of o.
func Run(ctx context.Context, node int, version string, o server.Options) error {
	config, err := Read(filepath.Join(o.DataDir, "config.yaml"))
	if err != nil {
		return err
	}
	if o.Identity, err = config.Identify(node, version); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.DataDir, "node"), []byte(o.Identity.Pod+"\n"), 0o600); err != nil {
		return fmt.Errorf("write local data: %w", err)
	}
	o.Grace, o.Settle = duration(config.Engine.TerminationGracePeriod), settleTime
	o.Start = func(ctx context.Context) error { return start(ctx, config, o.Logf) }
	return server.Run(ctx, o)
}

// start waits until the engine may accept queries: ready_after of the configuration has passed, and the metadata service
// serves.
func start(ctx context.Context, c Config, logf func(string, ...any)) error {
	if err := sleep(ctx, duration(c.Faults.ReadyAfter)); err != nil {
		return err
	}
	endpoint := c.Instance.MultiEngine.MetadataEndpoint
	conn, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("metadata service %s: %w", endpoint, err)
	}
	defer conn.Close() //nolint:errcheck // nothing is left in it
	client := healthv1.NewHealthClient(conn)
	for lastLog := ""; ; {
		answer, err := client.Check(ctx, &healthv1.HealthCheckRequest{})
		if err == nil && answer.GetStatus() == healthv1.HealthCheckResponse_SERVING {
			return nil
		}
		if status := fmt.Sprintf("waiting for the metadata service %s: %v %v", endpoint, answer.GetStatus(), err); status != lastLog {
			lastLog = status
			logf("%s", status)
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
