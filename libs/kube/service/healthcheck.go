package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
)

// withHealthcheck adds the command healthcheck to those of the service. An image that
// holds nothing but the service has no other program to check its health with.
func withHealthcheck(commands map[string]Command) map[string]Command {
	all := map[string]Command{"healthcheck": {
		Help: "Check the readiness of the service in this container; exit code 1 if it is not ready",
		Run: func(ctx context.Context, o Options, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("healthcheck takes no argument, got %q", args[0])
			}
			return checkReady(ctx, o.HealthAddr)
		},
	}}
	maps.Copy(all, commands)
	return all
}

// checkReady requests /readyz at the address that the service listens on, given the same settings.
func checkReady(ctx context.Context, address string) (err error) {
	if address == Disabled {
		return settingError("health-probe-bind-address", "is %s: the health endpoints are disabled", Disabled)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return settingError("health-probe-bind-address", "%w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		host = "localhost"
	}
	// Readiness itself may wait for a ping of the API server.
	ctx, cancel := context.WithTimeout(ctx, pingTimeout+pingTimeout/2)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	const enough = 4 << 10
	body, err := io.ReadAll(io.LimitReader(resp.Body, enough))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s: %s", resp.Status, strings.TrimSpace(string(body)))
	}
	return nil
}
