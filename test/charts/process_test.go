package charts

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
)

// built holds the binaries of the services, built once for all tests.
var built struct {
	sync.Mutex
	files map[string]string
}

// binary builds a service once and returns the path of its binary.
func binary(t testing.TB, service string) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if file := built.files[service]; file != "" {
		return file
	}
	dir, err := filepath.Abs(filepath.Join("../../services", service))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(binaries, service)
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", file, "./cmd/"+service)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", service, err, out)
	}
	if built.files == nil {
		built.files = map[string]string{}
	}
	built.files[service] = file
	return file
}

// env is a namespace with the prerequisites of a release.
type env struct {
	*testing.T
	client    client.Client
	namespace string
	service   string
}

// run runs the command line of a Job as a process with its environment, the files of its mounted
// Secrets and, unless token mounting is disabled, the token of its ServiceAccount.
func (p env) run(job *unstructured.Unstructured) (string, error) {
	p.Helper()
	typed := &batchv1.Job{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(job.Object, typed); err != nil {
		p.Fatal(err)
	}
	pod := typed.Spec.Template.Spec
	container := pod.Containers[0]
	mounts := p.TempDir()
	cmd := exec.CommandContext(p.Context(), binary(p, p.service))
	for _, arg := range container.Args {
		cmd.Args = append(cmd.Args, strings.ReplaceAll(arg, "=/etc/flotilla/", "="+mounts+"/"))
	}
	for _, volume := range pod.Volumes {
		p.mount(volume.Secret.SecretName, filepath.Join(mounts, volume.Name))
	}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.TempDir()}
	for _, e := range container.Env {
		cmd.Env = append(cmd.Env, e.Name+"="+p.value(e))
	}
	if *pod.AutomountServiceAccountToken {
		cmd.Env = append(cmd.Env, "KUBECONFIG="+p.kubeconfig(pod.ServiceAccountName))
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

func (p env) secret(name string) map[string][]byte {
	p.Helper()
	s := &corev1.Secret{}
	if err := p.client.Get(p.Context(), client.ObjectKey{Namespace: p.namespace, Name: name}, s); err != nil {
		p.Fatal(err)
	}
	return s.Data
}

func (p env) value(e corev1.EnvVar) string {
	if e.ValueFrom == nil {
		return e.Value
	}
	ref := e.ValueFrom.SecretKeyRef
	return string(p.secret(ref.Name)[ref.Key])
}

func (p env) mount(secret, dir string) {
	p.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		p.Fatal(err)
	}
	for key, data := range p.secret(secret) {
		if err := os.WriteFile(filepath.Join(dir, key), data, 0o600); err != nil {
			p.Fatal(err)
		}
	}
}

// kubeconfig writes a kubeconfig with a token of the account and no other credentials.
func (p env) kubeconfig(account string) string {
	p.Helper()
	sa := &corev1.ServiceAccount{}
	sa.Namespace, sa.Name = p.namespace, account
	request := &authenticationv1.TokenRequest{}
	if err := p.client.SubResource("token").Create(p.Context(), sa, request); err != nil {
		p.Fatal(err)
	}
	cfg, err := clientcmd.LoadFromFile(cluster.Get(p).Kubeconfig)
	if err != nil {
		p.Fatal(err)
	}
	for name := range cfg.AuthInfos {
		cfg.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: request.Status.Token}
	}
	file := filepath.Join(p.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*cfg, file); err != nil {
		p.Fatal(err)
	}
	return file
}

// The binaries accept all flags of all cases.
func TestBinariesAcceptRenderedFlags(t *testing.T) {
	each(t, func(t *testing.T, service, _, values string) {
		t.Helper()
		commands := 0
		for _, doc := range documents(t, render(t, service, "--values", values)) {
			containers, _, err := unstructured.NestedSlice(doc.Object, "spec", "template", "spec", "containers")
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range containers {
				args, found, err := unstructured.NestedStringSlice(c.(map[string]any), "args")
				if err != nil || !found {
					continue // the Deployment without pods
				}
				commands++
				acceptsFlags(t, service, args)
			}
		}
		if commands == 0 {
			t.Error("no command line found")
		}
	})
}

// Each flag of a binary has a value in its chart, or a reason to leave it to extraArgs.
func TestChartsSetAllFlags(t *testing.T) {
	rendered := "" // of all charts: one case covers the shared values
	each(t, func(t *testing.T, service, _, values string) {
		t.Helper()
		rendered += render(t, service, "--values", values)
	})
	for _, service := range services {
		out, err := exec.CommandContext(t.Context(), binary(t, service), "--help").CombinedOutput()
		if err != nil {
			t.Fatal(err)
		}
		flags := 0
		for line := range strings.SplitSeq(string(out), "\n") {
			_, tail, found := strings.Cut(line, "--")
			if !found || !strings.HasPrefix(strings.TrimSpace(line), "-") {
				continue
			}
			flag := strings.Fields(tail)[0]
			flags++
			if !strings.Contains(rendered, "--"+flag+"=") && !strings.Contains(rendered, "--"+flag+"\n") && without[flag] == "" {
				t.Errorf("%s: no value sets --%s", service, flag)
			}
		}
		if flags < 10 {
			t.Errorf("%s: found only %d flags in\n%s", service, flags, out)
		}
	}
}

// without maps the flags that no value sets to the reason.
var without = map[string]string{
	"version":                   "ends the process",
	"help":                      "ends the process",
	"kubeconfig":                "a pod has its account",
	"leader-election-namespace": "that of the pod",
	"bus-bootstrap":             "for development; bus.bootstrapJob has an identity of its own",
	"config":                    "a file of an earlier installation; values set the same",
	"enable-metadata-storage":   "on as soon as there is a database",
	"mysql-dsn":                 "from a Secret by the environment",
	"mysql-password":            "from a Secret by a file",
	"pprof-bind-address":        "without authentication, and only while profiles are read",
	"webhook-cert-secret":       "its name is in the Role",
}
