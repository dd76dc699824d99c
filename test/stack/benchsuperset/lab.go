package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
	"github.com/flotilla-dev/flotilla/test/stack/audit"
	"github.com/flotilla-dev/flotilla/test/stack/platform"
)

const (
	nodes           = 30
	systemNamespace = "flotilla-system"
	benchNamespace  = "bench"
)

// lab is a control plane with the operator at work in it.
type lab struct {
	*builder
	dir        string
	end        context.CancelCauseFunc // of the scenario
	leaving    atomic.Bool             // programs may end from now on
	kubeconfig string                  // of an administrator
	client     client.WithWatch        // of an administrator; reads the API server each time
	cluster    *controlplane.Cluster
	audit      audit.Log
	metrics    platform.Platform
	operator   *program
	aggregator *program   // nil in a lab without it
	programs   []*program // these two and others
	created    int
}

// start starts everything and returns when the operator has brought a first Superset to Running.
func (l *lab) start(ctx context.Context, withAggregator bool) error {
	if err := l.startControlPlane(ctx); err != nil {
		return err
	}
	var bus []string
	if withAggregator {
		url, err := l.startNATS()
		if err != nil {
			return err
		}
		bus = []string{"--nats-url=" + url, "--cluster-name=bench", "--bus-bootstrap"}
		if l.aggregator, err = l.startService(ctx, aggregatorName, bus); err != nil {
			return err
		}
		if err := l.leaseHeld(ctx, "flotilla-conditions"); err != nil {
			return err
		}
	}
	var err error
	if l.operator, err = l.startService(ctx, operatorName, bus); err != nil {
		return err
	}
	return l.warmUp(ctx)
}

func (l *lab) startControlPlane(ctx context.Context) error {
	if err := os.Mkdir(l.dir, 0o700); err != nil {
		return err
	}
	policy := filepath.Join(l.dir, "audit-policy.yaml")
	text := audit.Policy(user(operatorName), user(aggregatorName))
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		return err
	}
	cluster, err := l.tools.Create(ctx, controlplane.Config{
		Name: "bench", Dir: filepath.Join(l.dir, "cluster"), Nodes: nodes, Faults: true, Marker: l.marker,
		AuditPolicy: policy, Unthrottled: true,
	})
	if err != nil {
		return err
	}
	l.cluster, l.kubeconfig, l.audit = cluster, cluster.Kubeconfig, audit.Log{Path: cluster.LogFile("audit")}
	config, err := clientcmd.BuildConfigFromFlags("", l.kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.QPS = -1
	if l.client, err = client.NewWithWatch(config, client.Options{}); err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	for _, namespace := range []string{systemNamespace, benchNamespace, rawNamespace} {
		if _, err := l.kubectl(ctx, "create", "namespace", namespace); err != nil {
			return err
		}
	}
	crds := filepath.Join(l.root, "services", operatorName, "config", "crd")
	if _, err := l.kubectl(ctx, "apply", "--server-side", "-f", crds); err != nil {
		return err
	}
	// kubectl wait fails at once on a CRD that is so new that it has no conditions yet.
	return eventually(ctx, func() error {
		_, err := l.kubectl(ctx, "wait", "--for=condition=Established", "--timeout=60s", "-f", crds)
		return err
	})
}

// controlPlaneCPU returns the processor time that all parts of the control plane have used together, in seconds.
func (l *lab) controlPlaneCPU() (float64, error) {
	components, err := l.cluster.Components()
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, one := range components {
		seconds, err := cpuSeconds(one.PID)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", one.Name, err)
		}
		sum += seconds
	}
	return sum, nil
}

func (l *lab) startNATS() (url string, err error) {
	port, err := freeport.One()
	if err != nil {
		return "", err
	}
	_, err = l.launch("nats",
		filepath.Join(l.root, "hack", "tool"), "nats-server", "--name", "bench", "--addr", "127.0.0.1",
		"--port", strconv.Itoa(port), "--jetstream", "--store_dir", filepath.Join(l.dir, "nats"))
	return "nats://" + freeport.Address(port), err
}

// startService starts a service as its own service account.
func (l *lab) startService(ctx context.Context, name string, flags []string) (*program, error) {
	kubeconfig, err := l.identity(ctx, name)
	if err != nil {
		return nil, err
	}
	port, err := freeport.One()
	if err != nil {
		return nil, err
	}
	if name == operatorName {
		l.metrics.Env = map[string]string{"SUPERSET_OPERATOR_METRICS": "http://" + freeport.Address(port) + "/metrics"}
	}
	return l.launch(name, append([]string{
		l.binary(name), "--kubeconfig=" + kubeconfig,
		"--metrics-bind-address=" + freeport.Address(port), "--metrics-secure=false", "--health-probe-bind-address=0",
		"--leader-election-namespace=" + systemNamespace, "--conditions-lease-namespace=" + systemNamespace,
	}, flags...)...)
}

// launch starts a program and ends the scenario when the program ends before it.
func (l *lab) launch(name string, args ...string) (*program, error) {
	p, err := start(name, filepath.Join(l.dir, name+".log"), []string{l.marker}, args...)
	if err != nil {
		return nil, err
	}
	l.programs = append(l.programs, p)
	go func() {
		<-p.done
		if !l.leaving.Load() {
			l.end(p.ended())
		}
	}()
	return p, nil
}

// user is the name of a service at the API server.
func user(service string) string {
	return audit.ServiceAccount(systemNamespace, service)
}

// identity gives a service its account and permissions and returns a kubeconfig with a token of the account.
func (l *lab) identity(ctx context.Context, service string) (string, error) {
	if _, err := l.kubectl(ctx, "create", "serviceaccount", service, "--namespace", systemNamespace); err != nil {
		return "", err
	}
	rbac := filepath.Join(l.root, "services", service, "config", "rbac")
	if _, err := l.kubectl(ctx, "apply", "--server-side", "-f", rbac); err != nil {
		return "", err
	}
	if service == aggregatorName { // its manifests leave the bindings to the installation
		account := "--serviceaccount=" + systemNamespace + ":" + service
		for _, binding := range [][]string{{"clusterrolebinding", "--clusterrole=" + service}, {"rolebinding", "--role=" + service}} {
			_, err := l.kubectl(ctx, "create", binding[0], service, binding[1], account, "--namespace", systemNamespace)
			if err != nil {
				return "", err
			}
		}
	}
	token, err := l.kubectl(ctx, "create", "token", service, "--namespace", systemNamespace, "--duration=24h")
	if err != nil {
		return "", err
	}
	config, err := clientcmd.LoadFromFile(l.kubeconfig)
	if err != nil {
		return "", fmt.Errorf("read the kubeconfig: %w", err)
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &api.AuthInfo{Token: strings.TrimSpace(token)}
	}
	file := filepath.Join(l.dir, service+".kubeconfig")
	return file, clientcmd.WriteToFile(*config, file)
}

func (l *lab) leaseHeld(ctx context.Context, name string) error {
	return eventually(ctx, func() error {
		holder, err := l.kubectl(ctx, "get", "lease", name, "--namespace", systemNamespace, "-o", "jsonpath={.spec.holderIdentity}")
		if err == nil && holder == "" {
			return fmt.Errorf("nobody holds the lease %s", name)
		}
		return err
	})
}

func (l *lab) kubectl(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, l.tools.Path("kubectl"), append([]string{"--kubeconfig", l.kubeconfig}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECACHEDIR="+filepath.Join(l.dir, "cache"))
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(complaints.String()))
	}
	return string(out), nil
}

// stop ends all processes of the lab; the next scenario starts its own.
func (l *lab) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, err := proc.KillMarked(ctx, l.marker)
	return errors.Join(err, os.RemoveAll(l.dir))
}

// eventually calls check until it succeeds, for a minute at most.
func eventually(ctx context.Context, check func() error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-tick.C:
		}
	}
}
