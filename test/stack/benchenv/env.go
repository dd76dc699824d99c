package benchlab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
)

// Namespaces of a lab.
const (
	Namespace    = "bench" // for what the operator looks after
	RawNamespace = "raw"   // for what is compared with it
)

// Lab is a control plane with the operator at work in it.
type Lab struct {
	*builder
	dir        string
	end        context.CancelCauseFunc // of the scenario
	leaving    atomic.Bool             // programs may end from now on
	kubeconfig string                  // of an administrator
	// Client is an administrator's; it reads the API server each time.
	Client     client.WithWatch
	cluster    *controlplane.Cluster
	audit      audit.Log
	metrics    platform.Platform
	operator   *program   // nil in a late scenario that has not started it
	aggregator *program   // nil in a lab without it
	programs   []*program // these two and others
	// operatorKubeconfig is the operator's in a late scenario.
	operatorKubeconfig string
}

// start starts everything and returns when the operator has warmed up, or, in a late scenario, before it starts.
func (l *Lab) start(ctx context.Context, s Scenario) error {
	if err := l.startControlPlane(ctx); err != nil {
		return err
	}
	if s.Late {
		return l.prepareOperator(ctx)
	}
	var bus []string
	if s.Aggregator {
		url, err := l.startNATS()
		if err != nil {
			return err
		}
		bus = []string{"--nats-url=" + url, "--cluster-name=bench", "--bus-bootstrap"}
		if l.aggregator, err = l.startService(ctx, aggregator, bus); err != nil {
			return err
		}
		if err := l.leaseHeld(ctx, "flotilla-conditions"); err != nil {
			return err
		}
	}
	var err error
	if l.operator, err = l.startService(ctx, l.bench.Operator, bus); err != nil {
		return err
	}
	return l.bench.WarmUp(ctx, l)
}

func (l *Lab) startControlPlane(ctx context.Context) error {
	if err := os.Mkdir(l.dir, 0o700); err != nil {
		return err
	}
	policy := filepath.Join(l.dir, "audit-policy.yaml")
	text := audit.Policy(user(l.bench.Operator.Name), user(aggregator.Name))
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
	if l.Client, err = client.NewWithWatch(config, client.Options{}); err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	for _, namespace := range []string{systemNamespace, Namespace, RawNamespace} {
		if _, err := l.kubectl(ctx, "create", "namespace", namespace); err != nil {
			return err
		}
	}
	crds := filepath.Join(l.root, "services", l.bench.Operator.Name, "config", "crd")
	if _, err := l.kubectl(ctx, "apply", "--server-side", "-f", crds); err != nil {
		return err
	}
	// kubectl wait fails at once on a CRD that is so new that it has no conditions yet.
	return Eventually(ctx, func() error {
		_, err := l.kubectl(ctx, "wait", "--for=condition=Established", "--timeout=60s", "-f", crds)
		return err
	})
}

// controlPlaneCPU returns the processor time that all parts of the control plane have used together, in seconds.
func (l *Lab) controlPlaneCPU() (float64, error) {
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

func (l *Lab) startNATS() (url string, err error) {
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
func (l *Lab) startService(ctx context.Context, service Service, flags []string) (*program, error) {
	kubeconfig, err := l.identity(ctx, service)
	if err != nil {
		return nil, err
	}
	port, err := freeport.One()
	if err != nil {
		return nil, err
	}
	return l.launchService(service, kubeconfig, port, flags)
}

// launchService starts a service whose metrics are to be found at a port.
func (l *Lab) launchService(service Service, kubeconfig string, port int, flags []string) (*program, error) {
	name := service.Name
	if name == l.bench.Operator.Name {
		variable := strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_METRICS"
		l.metrics.Env = map[string]string{variable: "http://" + freeport.Address(port) + "/metrics"}
	}
	return l.launch(name, slices.Concat([]string{
		l.binary(name), "--kubeconfig=" + kubeconfig,
		"--metrics-bind-address=" + freeport.Address(port), "--metrics-secure=false", "--health-probe-bind-address=0",
		"--leader-election-namespace=" + systemNamespace, "--conditions-lease-namespace=" + systemNamespace,
	}, service.Flags, flags)...)
}

// launch starts a program and ends the scenario when the program ends before it.
func (l *Lab) launch(name string, args ...string) (*program, error) {
	p, err := start(name, filepath.Join(l.dir, name+".log"), []string{l.marker}, args...)
	if err != nil {
		return nil, err
	}
	l.programs = append(l.programs, p)
	go func() {
		<-p.done
		if !l.leaving.Load() && !p.dismissed.Load() {
			l.end(p.ended())
		}
	}()
	return p, nil
}

// user is the name of a service at the API server.
func user(service string) string {
	return audit.ServiceAccount(systemNamespace, service)
}

// identity gives a service its account with the rights of its chart, and returns a kubeconfig with a token of the
// account.
func (l *Lab) identity(ctx context.Context, service Service) (string, error) {
	name := service.Name
	account, err := l.renderAccount(ctx, name)
	if err != nil {
		return "", err
	}
	if _, err := l.kubectl(ctx, "apply", "--server-side", "-f", account); err != nil {
		return "", err
	}
	token, err := l.kubectl(ctx, "create", "token", name, "--namespace", systemNamespace, "--duration=24h")
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
	file := filepath.Join(l.dir, name+".kubeconfig")
	return file, clientcmd.WriteToFile(*config, file)
}

// renderAccount writes what a service's chart renders of its account, roles and bindings into a file.
func (l *Lab) renderAccount(ctx context.Context, service string) (string, error) {
	version, err := controlplane.KubernetesVersion(filepath.Join(l.root, "tools", "controlplane"))
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, l.tools.Path("helm"), "template", service, filepath.Join(l.root, "deploy", "charts", service),
		"--namespace="+systemNamespace, "--kube-version="+version, "--set=cluster.name=bench,bus.url=nats://127.0.0.1:4222",
		"--show-only=templates/serviceaccount.yaml", "--show-only=templates/rbac.yaml")
	var complaints strings.Builder
	cmd.Stderr = &complaints
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("render the chart of %s: %w: %s", service, err, strings.TrimSpace(complaints.String()))
	}
	file := filepath.Join(l.dir, service+"-account.yaml")
	return file, os.WriteFile(file, text, 0o600)
}

func (l *Lab) leaseHeld(ctx context.Context, name string) error {
	return Eventually(ctx, func() error {
		holder, err := l.kubectl(ctx, "get", "lease", name, "--namespace", systemNamespace, "-o", "jsonpath={.spec.holderIdentity}")
		if err == nil && holder == "" {
			return fmt.Errorf("nobody holds the lease %s", name)
		}
		return err
	})
}

func (l *Lab) kubectl(ctx context.Context, args ...string) (string, error) {
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
func (l *Lab) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, err := proc.KillMarked(ctx, l.marker)
	return errors.Join(err, os.RemoveAll(l.dir))
}

// Eventually calls check until it succeeds, for a minute at most.
func Eventually(ctx context.Context, check func() error) error {
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
