package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/kube/namespaces"
	"github.com/flotilla-dev/flotilla/libs/telemetry"
)

const (
	pingTimeout = 3 * time.Second
	minBackoff  = 500 * time.Millisecond
	maxBackoff  = 5 * time.Second
)

// RESTConfig returns the client configuration, without a request. The client has no
// rate limit: API Priority and Fairness limits requests on the server.
func (o Options) RESTConfig() (*rest.Config, error) {
	cfg, err := o.loadConfig()
	if err != nil {
		return nil, settingError("kubeconfig", "cannot be used: %w", err)
	}
	cfg.UserAgent = o.service + "/" + telemetry.BuildInfo().Version
	cfg.QPS = -1
	return cfg, nil
}

// ErrNoNamespace means that no namespace matches the selector.
var ErrNoNamespace = errors.New("no namespace matches")

// Namespaces returns the namespaces to watch, empty for all, for a service's commands. With a selector they are those that
// match it now, and the error is ErrNoNamespace if none does.
func (o Options) Namespaces(ctx context.Context) ([]string, error) {
	if o.WatchNamespaceSelector == "" {
		return o.WatchNamespaces, nil
	}
	cfg, err := o.RESTConfig()
	if err != nil {
		return nil, err
	}
	names, err := namespaces.List(ctx, cfg, o.WatchNamespaceSelector)
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%w --%s=%s", ErrNoNamespace, selectorFlag, o.WatchNamespaceSelector)
	}
	return names, err
}

func (o Options) loadConfig() (*rest.Config, error) {
	if o.Kubeconfig == "" {
		cfg, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("is not set and the process does not run in a pod: %w", err)
		}
		return cfg, nil
	}
	files := filepath.SplitList(o.Kubeconfig)
	for _, file := range files {
		if _, err := os.Stat(file); err != nil {
			return nil, err
		}
	}
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: files}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
}

// apiServer checks whether the API server responds.
type apiServer struct {
	client rest.Interface
	clock  clock.Clock
}

func newAPIServer(cfg *rest.Config, c clock.Clock) (*apiServer, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = pingTimeout
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, settingError("kubeconfig", "cannot be used: %w", err)
	}
	return &apiServer{client: client.RESTClient(), clock: c}, nil
}

func (a *apiServer) ping(ctx context.Context) error {
	return a.client.Get().AbsPath("/version").Do(ctx).Error()
}

// wait returns true once the API server responds, false when ctx ends first. It logs
// one line when it begins to wait and one when it ends.
func (a *apiServer) wait(ctx context.Context, log logr.Logger) bool {
	delay, waiting := minBackoff, false
	for {
		err := a.ping(ctx)
		if err == nil {
			if waiting {
				log.Info("Connected to the API server")
			}
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		if !waiting {
			waiting = true
			log.Info("Waiting for the API server", "reason", err.Error())
		}
		select {
		case <-ctx.Done():
			return false
		case <-a.clock.After(delay):
		}
		delay = min(2*delay, maxBackoff)
	}
}
