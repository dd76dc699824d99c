package charts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

const showCommand = "templates/command.yaml"

// documentedCommands returns the flags of helm template on docs/commands.md, by service.
func documentedCommands(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, line := range installs(t, "docs/commands.md") {
		_, flags, found := strings.Cut(line.text, "--show-only ")
		flags, _, _ = strings.Cut(flags, " >")
		if found {
			out[line.chart] = strings.Fields("--show-only " + strings.ReplaceAll(flags, "'", ""))
		}
	}
	files, err := filepath.Glob(filepath.Join(chartsDir, "*", showCommand))
	if err != nil || len(files) == 0 {
		t.Fatalf("no charts with commands: %v", err)
	}
	for _, file := range files {
		if service := filepath.Base(filepath.Dir(filepath.Dir(file))); out[service] == nil {
			t.Errorf("docs/commands.md renders no command of %s", service)
		}
	}
	return out
}

// TestGoldenCommands compares the Jobs of docs/commands.md with golden files.
func TestGoldenCommands(t *testing.T) {
	for service, flags := range documentedCommands(t) {
		equalsGolden(t, service+".command", render(t, service, append([]string{"--values", renders(t)[service]["full"]}, flags...)...))
	}
}

// The Job has the image of the service. The binary accepts its flags, and those of the command win.
func TestCommandRunsWithSettings(t *testing.T) {
	flags := documentedCommands(t)
	each(t, func(t *testing.T, service, caseName, values string) {
		t.Helper()
		if flags[service] == nil || service == "status-aggregator" && caseName != "full" { // the others set no identity
			return
		}
		set := append([]string{"--values", values, "--set", "image.tag=9.9.9,command={" + words(t, flags[service]) + ",--nats-url=nats://mine:1}"}, flags[service][:2]...)
		pod := commandJob(t, documents(t, render(t, service, set...))).Spec.Template.Spec
		container := pod.Containers[0]
		if !strings.HasSuffix(container.Image, "/"+service+":9.9.9") {
			t.Errorf("image %s", container.Image)
		}
		out, err := exec.CommandContext(t.Context(), binary(t, service), append(container.Args, "--version")...).CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), service) {
			t.Errorf("%v: %v: %s", container.Args, err, out)
		}
		last := ""
		for _, arg := range container.Args {
			if url, found := strings.CutPrefix(arg, "--nats-url="); found {
				last = url
			}
		}
		if last != "nats://mine:1" {
			t.Errorf("--nats-url is %q: %v", last, container.Args)
		}
	})
}

// words returns the words of a documented command, separated by commas.
func words(t *testing.T, flags []string) string {
	t.Helper()
	list, found := strings.CutPrefix(flags[len(flags)-1], "command=[")
	if !found {
		t.Fatalf("no command in %v", flags)
	}
	return strings.ReplaceAll(strings.TrimSuffix(list, "]"), `"`, "")
}

func commandJob(t *testing.T, docs []*unstructured.Unstructured) *batchv1.Job {
	t.Helper()
	job := &batchv1.Job{}
	for _, doc := range docs {
		if doc.GetKind() == "Job" {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(doc.Object, job); err != nil {
				t.Fatal(err)
			}
			return job
		}
	}
	t.Fatal("no Job is rendered")
	return nil
}

// A release must not contain the Job: its template is immutable, and its permissions are for one run.
func TestUpgradeRejectsCommand(t *testing.T) {
	_, err := helm(t, "template", "engine-operator", chart("engine-operator"), "--is-upgrade", "--set", "command={remove-finalizers}")
	if err == nil || !strings.Contains(err.Error(), "command is for helm template") {
		t.Errorf("want an error, got %v", err)
	}
}

// command runs the command of the lifecycle as docs/commands.md does, from the values of the release.
func (p env) command(s lifecycle) {
	p.Helper()
	if s.command == "" {
		return
	}
	values := filepath.Join(p.TempDir(), "values.yaml")
	if err := os.WriteFile(values, []byte(p.helm("get", "values", p.service, "--output", "yaml")), 0o600); err != nil {
		p.Fatal(err)
	}
	set := []string{"--namespace", p.namespace, "--values", values, "--show-only", showCommand, "--set-json", "command=" + s.command}
	p.jobs(documents(p, template(p, p.service, chart(p.service), set...)), map[string]func(env, string){p.service + "-command": s.printed})
}
