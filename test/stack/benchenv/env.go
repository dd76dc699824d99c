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
	// Namespace is the namespace of the objects of the operator.
	Namespace = "bench"
	// OtherNamespace is another namespace of objects of the operator.
	OtherNamespace = "other"
	// RawNamespace is the namespace of the copies that Kubernetes alone controls.
	RawNamespace = "raw"
	// ClusterName is the name of the cluster on the bus.
	ClusterName = "bench"
)

// Env is a control plane in which the operator runs.
type Env struct {
	runner
	// Client has the permissions of an administrator, and no cache.
	Client client.WithWatch
	// Operator is the measured service; Aggregator is nil in scenarios without it.
	Operator, Aggregator *Service

	dir       string
	end       context.CancelCauseFunc // ends the context of the scenario
	cluster   *controlplane.Cluster
	kubectl   kubectl.Client
	audit     audit.Log
	processes []*process
	profiles  int // number of profiles so far
}

// start starts the control plane and the services, and warms up the operator. For a RunLast scenario it starts no service.
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
	if s.RunLast {
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

// StartAggregator starts a bus and the aggregator, and returns the bus flags for other services.
func (e *Env) StartAggregator(ctx context.Context) (flags []string, err error) {
	url, err := e.Bus()
	if err != nil {
		return nil, err
	}
	flags = BusFlags(url)
	if _, err := e.Aggregator.Start(flags...); err != nil {
		return nil, err
	}
	return flags, e.Aggregator.WaitForLeader(ctx)
}

// BusFlags returns the flags that connect a service to a bus.
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
		filepath.Join(e.root, "hack", "tool"), "nats-server",
		"--config", filepath.Join(e.root, "hack", "nats.conf"), "--name", "bench", "--addr", "127.0.0.1",
		"--port", strconv.Itoa(port), "--jetstream", "--store_dir", filepath.Join(e.dir, "nats"))
	return "nats://" + freeport.Address(port), err
}

// DatabaseVariable selects the server of [Env.Database]: mysql or mariadb; empty means any.
const DatabaseVariable = "BENCH_DATABASE"

// Database starts a MySQL or MariaDB server. The caller removes it.
func (e *Env) Database(ctx context.Context) (*mysqlserver.Server, error) {
	port, err := freeport.One()
	if err != nil {
		return nil, err
	}
	return mysqlserver.Start(ctx, mysqlserver.Config{
		Name: filepath.Base(e.runner.dir), Dir: filepath.Join(e.dir, "mysql"), Port: port, Marker: e.marker, Logf: Note,
		Vendor: mysqlserver.Vendor(os.Getenv(DatabaseVariable)),
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
	for _, namespace := range []string{systemNamespace, Namespace, OtherNamespace, RawNamespace} {
		if _, err := e.kubectl.Run(ctx, "", "create", "namespace", namespace); err != nil {
			return err
		}
	}
	return e.kubectl.ApplyCRDs(ctx, filepath.Join(e.module(e.benchmark.Operator), "config", "crd"))
}

// CPU returns the CPU seconds that processes have used since their start, by name: the operator, each process of the control
// plane, and others, given by process id.
func (e *Env) CPU(others map[string]int) (map[string]float64, error) {
	c, err := e.controlPlane()
	out, errs := c.ControlPlane, []error{err}
	measure := func(name string, pid int) {
		seconds, err := proc.CPUSeconds(pid)
		out[name] = seconds
		errs = append(errs, err)
	}
	if pid := e.Operator.pid(); pid != 0 {
		measure(e.Operator.Name, pid)
	}
	for name, pid := range others {
		measure(name, pid)
	}
	return out, errors.Join(errs...)
}

// controlPlane returns the counters of the processes of the control plane.
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

// ControlPlaneRSS returns the resident memory of a process of the control plane, in bytes.
func (e *Env) ControlPlaneRSS(process string) (float64, error) {
	components, err := e.cluster.Components()
	if err != nil {
		return 0, err
	}
	for _, one := range components {
		if one.Name == process {
			return proc.RSS(one.PID)
		}
	}
	return 0, fmt.Errorf("process %s of the control plane does not run", process)
}

// stop kills all processes and removes the directory of the scenario.
func (e *Env) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, err := proc.KillMarked(ctx, e.marker)
	return errors.Join(err, os.RemoveAll(e.dir))
}
