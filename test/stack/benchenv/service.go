package benchenv

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/flotilla-dev/flotilla/libs/testkit/audit"
	"github.com/flotilla-dev/flotilla/libs/testkit/await"
	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
	"github.com/flotilla-dev/flotilla/test/stack/platform"
)

// process is a process whose exit fails the scenario unless it is dismissed first.
type process struct {
	*proc.Child
	stopping atomic.Bool
}

func (e *Env) launch(name string, args ...string) (*process, error) {
	cmd := exec.Command(args[0], args[1:]...) //nolint:noctx // the watchdog ends it
	cmd.Env = append(proc.CleanEnv(os.Environ()), e.marker)
	child, err := proc.Start(cmd, filepath.Join(e.dir, name+".log"))
	if err != nil {
		return nil, err
	}
	p := &process{Child: child}
	e.processes = append(e.processes, p)
	go func() {
		<-p.Ended()
		if !p.stopping.Load() {
			e.end(p.Running())
		}
	}()
	return p, nil
}

// Service is a service of this repository with the account and the permissions of its chart.
type Service struct {
	Name string

	env        *Env
	flags      []string
	kubeconfig string
	metrics    string   // URL
	pprof      string   // URL
	running    *process // the last process of the service
}

// service creates the service account, permissions and kubeconfig of a service, so it can be started.
func (e *Env) service(ctx context.Context, name string, flags ...string) (*Service, error) {
	account, err := e.renderAccount(ctx, name)
	if err != nil {
		return nil, err
	}
	if _, err := e.kubectl.Run(ctx, "", "apply", "--server-side", "-f", account); err != nil {
		return nil, err
	}
	token, err := e.kubectl.Run(ctx, "", "create", "token", name, "--namespace", systemNamespace, "--duration=24h")
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.LoadFromFile(e.cluster.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &api.AuthInfo{Token: strings.TrimSpace(string(token))}
	}
	file := filepath.Join(e.dir, name+".kubeconfig")
	return &Service{Name: name, env: e, flags: flags, kubeconfig: file}, clientcmd.WriteToFile(*config, file)
}

// renderAccount renders the service account, roles and bindings of a service's chart, and returns the path of the file.
func (e *Env) renderAccount(ctx context.Context, service string) (string, error) {
	version, err := controlplane.KubernetesVersion(filepath.Join(e.root, "tools", "controlplane"))
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, e.tools.Path("helm"), "template", service, filepath.Join(e.root, "deploy", "charts", service),
		"--namespace="+systemNamespace, "--kube-version="+version, "--set=cluster.name="+ClusterName+",bus.url=nats://127.0.0.1:4222",
		"--show-only=templates/serviceaccount.yaml", "--show-only=templates/rbac.yaml")
	text, err := proc.Output(cmd)
	if err != nil {
		return "", fmt.Errorf("render the chart of %s: %w", service, err)
	}
	file := filepath.Join(e.dir, service+"-account.yaml")
	return file, os.WriteFile(file, text, 0o600)
}

// Start starts the service, and returns the time of the start. It can be called again after Stop.
func (s *Service) Start(flags ...string) (time.Time, error) {
	ports, err := freeport.Pick(2)
	if err != nil {
		return time.Time{}, err
	}
	metrics, pprof := freeport.Address(ports[0]), freeport.Address(ports[1])
	s.metrics, s.pprof = "http://"+metrics+"/metrics", "http://"+pprof
	start := time.Now()
	s.running, err = s.env.launch(s.Name, slices.Concat([]string{
		s.env.binary(s.Name), "--kubeconfig=" + s.kubeconfig,
		"--metrics-bind-address=" + metrics, "--metrics-secure=false", "--health-probe-bind-address=0",
		"--pprof-bind-address=" + pprof,
		"--leader-election-namespace=" + systemNamespace, "--conditions-lease-namespace=" + systemNamespace,
	}, s.flags, flags)...)
	return start, err
}

// pid returns the process id of the service, or 0 if it does not run.
func (s *Service) pid() int {
	if s.running == nil || s.running.stopping.Load() {
		return 0
	}
	return s.running.PID
}

// Stop terminates the service with SIGTERM, if it runs.
func (s *Service) Stop(ctx context.Context) error {
	if s.running == nil {
		return nil
	}
	s.running.stopping.Store(true)
	if s.running.Running() != nil {
		return nil //nolint:nilerr // the error means that it has ended
	}
	return proc.Terminate(ctx, s.running.PID, 20*time.Second)
}

// Command runs a command of the service, such as "migrate up".
func (s *Service) Command(ctx context.Context, args ...string) error {
	if out, err := exec.CommandContext(ctx, s.env.binary(s.Name), args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", s.Name, args[0], err, out)
	}
	return nil
}

// Metric returns the sum of the counters and gauges of a metric over all labels, or 0 if the service does not export it. It
// requests only this metric, since all metrics of thousands of resources have many megabytes.
func (s *Service) Metric(ctx context.Context, name string) (float64, error) {
	families, err := platform.Scrape(ctx, s.metrics+"?name[]="+url.QueryEscape(name))
	total := 0.0
	for _, m := range families[name].GetMetric() {
		total += m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	return total, err
}

// RSS returns the resident memory in bytes.
func (s *Service) RSS() (float64, error) { return proc.RSS(s.running.PID) }

// user returns the user name of the service account.
func (s *Service) user() string { return user(s.Name) }

func user(service string) string { return audit.ServiceAccount(systemNamespace, service) }

// WaitForLeader waits until the aggregator holds the Lease that it needs to write conditions.
func (s *Service) WaitForLeader(ctx context.Context) error {
	const lease = "flotilla-conditions"
	return await.Nil(ctx, time.Minute, pollInterval, func(ctx context.Context) error {
		holder, err := s.env.kubectl.Run(ctx, "", "get", "lease", lease, "--namespace", systemNamespace, "-o", "jsonpath={.spec.holderIdentity}")
		if err == nil && len(holder) == 0 {
			return fmt.Errorf("the Lease %s is not held", lease)
		}
		return err
	})
}
