package controlplane

import (
	"fmt"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
)

// Config describes a cluster.
type Config struct {
	// Name of the cluster; also the name of its kubeconfig context, with "kwok-" before it.
	Name string
	// Dir holds everything the cluster writes. It must be used by this cluster only.
	Dir string
	// Nodes is the number of simulated nodes, each with 32 CPUs and room for 110 pods. 0 means DefaultNodes.
	Nodes int
	// Faults loads the stages behind FailAnnotation and its siblings.
	Faults bool
	// Marker is a KEY=value that every process of the cluster gets in its environment.
	Marker string
	// AuditPolicy is a file with an audit policy; empty disables auditing. The API server writes the events that the
	// policy selects to LogFile("audit"), one JSON event per line.
	AuditPolicy string
	// Unthrottled lifts the limits that kube-controller-manager and kube-scheduler set themselves, 20 and 50 requests a
	// second by default. At 20, the 150 Deployments of 50 Supersets take half a minute.
	Unthrottled bool
}

// DefaultNodes has the capacity for about 300 pods that request up to a third of a core each.
const DefaultNodes = 5

// portNames are kwokctl's options for all listening ports. By default kwokctl picks ports by counting down from the same
// number in every process, so clusters that start at the same moment would collide.
var portNames = []string{
	"etcdPeerPort", "etcdPort", "kubeApiserverPort", "kubeControllerManagerPort", "kubeSchedulerPort", "kwokControllerPort",
}

// serviceRange has room for 65,000 Services; the API server's default has room for 254.
const serviceRange = "10.0.0.0/16"

// render returns the configuration file for kwokctl, with newly picked ports.
func (c Config) render(t Tools) (string, error) {
	ports, err := freeport.Pick(len(portNames))
	if err != nil {
		return "", err
	}
	options := map[string]any{
		"runtime":                     "binary",
		"bindAddress":                 "127.0.0.1",
		"kubectlBinary":               t.Path("kubectl"),
		"etcdBinary":                  t.Path("etcd"),
		"kubeApiserverBinary":         t.Path("kube-apiserver"),
		"kubeControllerManagerBinary": t.Path("kube-controller-manager"),
		"kubeSchedulerBinary":         t.Path("kube-scheduler"),
		"kwokControllerBinary":        t.Path("kwok"),
	}
	for i, name := range portNames {
		options[name] = ports[i]
	}
	if c.Unthrottled {
		options["disableQPSLimits"] = true
	}
	flags := []any{
		flag("kube-apiserver", "service-cluster-ip-range", serviceRange),
		// With little CPU the API server validates a large CRD for longer than the default of a minute.
		flag("kube-apiserver", "request-timeout", "5m"),
		// Leader election is pointless with a single replica, and on a machine with too little CPU a component
		// would lose its Lease and exit.
		flag("kube-controller-manager", "leader-elect", "false"),
		flag("kube-scheduler", "leader-elect", "false"),
	}
	if c.AuditPolicy != "" {
		options["kubeAuditPolicy"] = c.AuditPolicy
		// By default the log is rotated at 100 MB, which the events of 4,000 engines exceed.
		flags = append(flags, flag("kube-apiserver", "audit-log-maxsize", "10000"))
	}
	doc, err := yaml.Marshal(map[string]any{
		"apiVersion":        "config.kwok.x-k8s.io/v1alpha1",
		"kind":              "KwokctlConfiguration",
		"options":           options,
		"componentsPatches": flags,
	})
	if err != nil {
		return "", fmt.Errorf("render the configuration of kwokctl: %w", err)
	}
	docs := []string{string(doc)}
	if c.Faults {
		stages, err := t.stages()
		if err != nil {
			return "", err
		}
		docs = append(docs, stages)
	}
	return strings.Join(docs, "\n---\n"), nil
}

// flag returns a kwokctl patch that adds a flag to a component.
func flag(component, key, value string) map[string]any {
	return map[string]any{"name": component, "extraArgs": []any{map[string]any{"key": key, "value": value}}}
}

func (c Config) kubeconfig() string {
	return filepath.Join(c.Dir, "kubeconfig")
}

// LogFile returns the log file of a component.
func (c Config) LogFile(component string) string {
	return filepath.Join(c.clusterDir(), "logs", component+".log")
}

func (c Config) configFile() string {
	return filepath.Join(c.Dir, "kwokctl.yaml")
}

func (c Config) clusterDir() string {
	return filepath.Join(c.Dir, "clusters", c.Name)
}
