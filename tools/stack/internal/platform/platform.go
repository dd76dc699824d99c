// Package platform installs Flotilla on a real node like in production: NATS with an identity for each service, MySQL,
// and the charts of the services with their images. No process runs from the checkout.
package platform

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
)

// The namespaces of the platform: that of the services, and that of NATS and MySQL.
const (
	System = "flotilla-system"
	Data   = "flotilla-data"
)

const (
	natsAddress = "nats." + Data + ".svc:4222"
	natsPort    = 30422
	caSecret    = "bus-ca"
	timeout     = "5m"
)

// Config is the target and the sources of the installation.
type Config struct {
	// Root is the root of the checkout, with the charts and the configuration of the bus.
	Root       string
	Helm       string // program
	Kubectl    string // program
	Kubeconfig string
	Cache      string // cache directory of both
	// Services are the services to install, in this order.
	Services []string
	// ClusterName is the name of the cluster on the bus.
	ClusterName string
	// NATSImage and MySQLImage are images; those of the services are flotilla/<service>:dev.
	NATSImage, MySQLImage string
	// Digests are the digests of images by name. They become annotations of pods, so that an image that was built again
	// under its tag restarts them.
	Digests map[string]string
	// Certificates is a directory with ca.crt, nats.crt and nats.key.
	Certificates string
	// Passwords is the file that stores the passwords across restarts.
	Passwords string
	// Step runs and reports one step.
	Step func(what string, do func() (string, error)) error
}

//go:embed files
var files embed.FS

// NATSHosts returns the names that the certificate of the bus must have in addition to the address of the node.
func NATSHosts() []string {
	return []string{"nats", "nats." + Data, "nats." + Data + ".svc", "nats." + Data + ".svc.cluster.local", "localhost"}
}

// Install installs or upgrades the platform.
func (c Config) Install(ctx context.Context) error {
	p, err := c.passwords()
	if err != nil {
		return err
	}
	if err := c.Step("namespaces, identities and certificates", func() (string, error) {
		return "applied", c.prepare(ctx, p)
	}); err != nil {
		return err
	}
	for _, name := range []string{"nats", "mysql"} {
		if err := c.Step(name, func() (string, error) { return "ready", c.stateful(ctx, name) }); err != nil {
			return err
		}
	}
	for _, service := range c.Services {
		if err := c.Step("chart "+service, func() (string, error) { return "deployed", c.deploy(ctx, service) }); err != nil {
			return err
		}
	}
	return nil
}

// prepare applies the namespaces, Secrets and ConfigMaps that pods reference.
func (c Config) prepare(ctx context.Context, p passwords) error {
	config, err := c.busConfig()
	if err != nil {
		return err
	}
	tls := map[string]string{}
	for key, file := range map[string]string{"ca.crt": "ca.crt", "tls.crt": "nats.crt", "tls.key": "nats.key"} {
		data, err := os.ReadFile(filepath.Join(c.Certificates, file))
		if err != nil {
			return fmt.Errorf("read a certificate of the bus: %w", err)
		}
		tls[key] = string(data)
	}
	documents := []any{
		namespace(System), namespace(Data),
		object("ConfigMap", Data, "nats-config", "data", config),
		object("Secret", Data, "nats-tls", "stringData", tls),
		object("Secret", Data, "nats-passwords", "stringData", p.variables()),
		object("Secret", Data, "mysql-password", "stringData", map[string]string{"password": p.MySQL}),
		object("Secret", System, caSecret, "stringData", map[string]string{"ca.crt": tls["ca.crt"]}),
		object("Secret", System, "ingester-database", "stringData", map[string]string{
			"dsn": "flotilla:" + p.MySQL + "@tcp(mysql." + Data + ".svc:3306)/flotilla?parseTime=true",
		}),
	}
	for user, password := range p.Bus {
		documents = append(documents, object("Secret", System, "bus-"+user, "stringData", map[string]string{
			"url": "tls://" + user + ":" + password + "@" + natsAddress,
		}))
	}
	list, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": documents})
	if err != nil {
		return fmt.Errorf("write the Secrets of the platform: %w", err)
	}
	return c.apply(ctx, list)
}

// namespace returns a Namespace that enforces the Pod Security Standards of production.
func namespace(name string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
		"name": name, "labels": map[string]any{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
}

func object(kind, namespace, name, field string, data map[string]string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": kind,
		"metadata": map[string]any{"name": name, "namespace": namespace},
		field:      data,
	}
}

// busConfig returns the files of deploy/nats with the names of this cluster.
func (c Config) busConfig() (map[string]string, error) {
	paths, err := filepath.Glob(filepath.Join(c.Root, "deploy", "nats", "*.conf"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("find the configuration of the bus in deploy/nats: %w", err)
	}
	names := strings.NewReplacer("CLUSTER", c.ClusterName, "NAMESPACE", watched, "TOOL", tool)
	config := map[string]string{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read the configuration of the bus: %w", err)
		}
		config[filepath.Base(path)] = names.Replace(string(data))
	}
	return config, nil
}

func (c Config) stateful(ctx context.Context, name string) error {
	config, err := c.busConfig()
	if err != nil {
		return err
	}
	text, err := files.ReadFile("files/" + name + ".yaml")
	if err != nil {
		return fmt.Errorf("read the manifest of %s: %w", name, err)
	}
	t, err := template.New(name).Option("missingkey=error").Parse(string(text))
	if err != nil {
		return fmt.Errorf("read the manifest of %s: %w", name, err)
	}
	var manifest bytes.Buffer
	if err := t.Execute(&manifest, map[string]any{
		"Namespace": Data, "NATSPort": natsPort, "NATSImage": c.NATSImage, "MySQLImage": c.MySQLImage, "Sum": sum(config),
	}); err != nil {
		return fmt.Errorf("fill in the manifest of %s: %w", name, err)
	}
	if err := c.apply(ctx, manifest.Bytes()); err != nil {
		return err
	}
	return c.run(ctx, nil, c.Kubectl, "rollout", "status", "--namespace="+Data, "statefulset/"+name, "--timeout="+timeout)
}

// deploy installs or upgrades the CRDs and the chart of a service.
func (c Config) deploy(ctx context.Context, service string) error {
	charts := filepath.Join(c.Root, "deploy", "charts")
	if crds := filepath.Join(charts, service+"-crds"); exists(crds) {
		if err := c.upgrade(ctx, service+"-crds", crds, map[string]any{}); err != nil {
			return err
		}
	}
	return c.upgrade(ctx, service, filepath.Join(charts, service), c.values(service))
}

func (c Config) values(service string) map[string]any {
	bus := func(user string) map[string]any {
		return map[string]any{
			"urlSecret": map[string]any{"name": "bus-" + user},
			"tls":       map[string]any{"secretName": caSecret},
		}
	}
	v := map[string]any{
		"cluster": map[string]any{"name": c.ClusterName},
		"image":   map[string]any{"repository": "flotilla/" + service, "tag": "dev"},
		"bus":     bus(service),
	}
	if digest := c.Digests["docker.io/flotilla/"+service+":dev"]; digest != "" {
		v["podAnnotations"] = map[string]any{"flotilla.dev/image-digest": digest}
	}
	switch service {
	case "status-aggregator":
		job := bus("bootstrap")
		job["enabled"] = true
		v["bus"].(map[string]any)["bootstrapJob"] = job
	case "ingester":
		v["database"] = map[string]any{"dsnSecret": map[string]any{"name": "ingester-database"}}
	}
	return v
}

func (c Config) upgrade(ctx context.Context, release, chart string, values map[string]any) error {
	data, err := yaml.Marshal(values)
	if err != nil {
		return fmt.Errorf("write the values of %s: %w", release, err)
	}
	return c.run(ctx, data, c.Helm, "upgrade", "--install", release, chart, "--namespace="+System,
		"--values=-", "--wait", "--timeout="+timeout)
}

func (c Config) apply(ctx context.Context, manifest []byte) error {
	return c.run(ctx, manifest, c.Kubectl, "apply", "--server-side", "--force-conflicts", "-f", "-")
}

func (c Config) run(ctx context.Context, stdin []byte, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig, "KUBECACHEDIR="+c.Cache, "HELM_CACHE_HOME="+filepath.Join(c.Cache, "helm"))
	cmd.Stdin = bytes.NewReader(stdin)
	if _, err := proc.Output(cmd); err != nil {
		return fmt.Errorf("%s %s: %w", filepath.Base(program), strings.Join(args[:min(3, len(args))], " "), err)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
