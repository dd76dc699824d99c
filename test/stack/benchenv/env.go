package benchenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/libs/testkit/kubectl"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqlserver"
	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
	"github.com/flotilla-dev/flotilla/test/stack/audit"
)

const (
	nodes           = 30
	systemNamespace = "flotilla-system"
	pollInterval    = 100 * time.Millisecond
)

const (
	// Namespace is for what the operator looks after.
	Namespace = "bench"
	// RawNamespace is for what is compared with it.
	RawNamespace = "raw"
	// ClusterName is the name of the cluster on the bus.
	ClusterName = "bench"
)

// Env is a control plane with the operator at work in it.
type Env struct {
	runner
	// Client is an administrator's; it reads the API server each time.
	Client client.WithWatch
	// Operator is the service that is measured; Aggregator is nil where none takes part.
	Operator, Aggregator *Service

	dir       string
	end       context.CancelCauseFunc // of the scenario
	cluster   *controlplane.Cluster
	kubectl   kubectl.Client
	audit     audit.Log
	processes []*process
	profiles  int // taken so far
}

// start starts everything and returns when the operator has warmed up, or, in a late scenario, before anything starts.
func (e *Env) start(ctx context.Context, s Scenario) (err error) {
	if err := e.startControlPlane(ctx); err != nil {
		return err
	}
	if e.Operator, err = e.service(ctx, e.benchmark.Operator, e.benchmark.Flags...); err != nil {
		return err
	}
	if s.Aggregator {
		if e.Aggregator, err = e.service(ctx, aggregator); err != nil {
			return err
		}
	}
	if s.Late {
		return nil
	}
	var bus []string
	if s.Aggregator {
		if bus, err = e.StartAggregator(ctx); err != nil {
			return err
		}
	}
	if _, err = e.Operator.Start(bus...); err != nil {
		return err
	}
	return e.benchmark.WarmUp(ctx, e)
}

// StartAggregator starts a bus and on it the aggregator, and returns the flags of the services that publish there.
func (e *Env) StartAggregator(ctx context.Context) (flags []string, err error) {
	url, err := e.Bus()
	if err != nil {
		return nil, err
	}
	flags = BusFlags(url)
	if _, err := e.Aggregator.Start(flags...); err != nil {
		return nil, err
	}
	return flags, e.Aggregator.Leads(ctx)
}

// BusFlags tell a service where its bus is.
func BusFlags(bus string) []string {
	return []string{"--nats-url=" + bus, "--cluster-name=" + ClusterName, "--bus-bootstrap"}
}

// Bus starts a NATS server and returns its URL.
func (e *Env) Bus() (url string, err error) {
	port, err := freeport.One()
	if err != nil {
		return "", err
	}
	_, err = e.launch("nats",
		filepath.Join(e.root, "hack", "tool"), "nats-server", "--name", "bench", "--addr", "127.0.0.1",
		"--port", strconv.Itoa(port), "--jetstream", "--store_dir", filepath.Join(e.dir, "nats"))
	return "nats://" + freeport.Address(port), err
}

// DatabaseVariable selects the server of [Env.Database]: mysql or mariadb. Without it, any is used.
const DatabaseVariable = "BENCH_DATABASE"

// Database starts a MySQL or MariaDB server. The caller removes it.
func (e *Env) Database(ctx context.Context) (*mysqlserver.Server, error) {
	port, err := freeport.One()
	if err != nil {
		return nil, err
	}
	return mysqlserver.Start(ctx, mysqlserver.Config{
		Name: filepath.Base(e.runner.dir), Dir: filepath.Join(e.dir, "mysql"), Port: port, Marker: e.marker, Say: Note,
		Flavour: mysqlserver.Flavour(os.Getenv(DatabaseVariable)),
	})
}

func (e *Env) startControlPlane(ctx context.Context) error {
	if err := os.Mkdir(e.dir, 0o700); err != nil {
		return err
	}
	policy := filepath.Join(e.dir, "audit-policy.yaml")
	text := audit.Policy(user(e.benchmark.Operator), user(aggregator))
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		return err
	}
	cluster, err := e.tools.Create(ctx, controlplane.Config{
		Name: "bench", Dir: filepath.Join(e.dir, "cluster"), Nodes: nodes, Faults: true, Marker: e.marker,
		AuditPolicy: policy, Unthrottled: true,
	})
	if err != nil {
		return err
	}
	e.cluster, e.audit = cluster, audit.Log{Path: cluster.LogFile("audit")}
	e.kubectl = kubectl.Client{Program: e.tools.Path("kubectl"), Kubeconfig: cluster.Kubeconfig, Cache: filepath.Join(e.dir, "cache")}
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.QPS = -1
	if e.Client, err = client.NewWithWatch(config, client.Options{}); err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	for _, namespace := range []string{systemNamespace, Namespace, RawNamespace} {
		if _, err := e.kubectl.Run(ctx, "", "create", "namespace", namespace); err != nil {
			return err
		}
	}
	return e.kubectl.ApplyCRDs(ctx, filepath.Join(e.module(e.benchmark.Operator), "config", "crd"))
}

// CPU is the processor time that processes have used since their start, in seconds, by name: the operator's, that of each
// part of the control plane, and of other processes that are given by their process id.
func (e *Env) CPU(others map[string]int) (map[string]float64, error) {
	c, err := e.controlPlane()
	out, errs := c.ControlPlane, []error{err}
	measure := func(name string, pid int) {
		seconds, err := proc.CPUSeconds(pid)
		out[name] = seconds
		errs = append(errs, err)
	}
	if running := e.Operator.running; running != nil && !running.dismissed.Load() {
		measure(e.Operator.Name, running.PID)
	}
	for name, pid := range others {
		measure(name, pid)
	}
	return out, errors.Join(errs...)
}

// controlPlane returns what each process of the control plane has used.
func (e *Env) controlPlane() (Counters, error) {
	c := Counters{ControlPlane: map[string]float64{}}
	components, err := e.cluster.Components()
	errs := []error{err}
	for _, one := range components {
		var err error
		c.ControlPlane[one.Name], err = proc.CPUSeconds(one.PID)
		errs = append(errs, err)
		if one.Name == "etcd" {
			c.EtcdBytes, err = proc.WrittenBytes(one.PID)
			errs = append(errs, err)
		}
	}
	return c, errors.Join(errs...)
}

// stop ends all processes; the next scenario starts its own.
func (e *Env) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, err := proc.KillMarked(ctx, e.marker)
	return errors.Join(err, os.RemoveAll(e.dir))
}
