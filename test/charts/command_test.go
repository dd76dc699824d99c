package charts

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

const showCommand = "templates/command.yaml"

// documentedCommand is a command of docs/commands.md that renders a Job.
type documentedCommand struct {
	service string
	words   []string // of the Job
	values  bool     // reads the values of a release
	flags   []string // of helm template, without the values
}

// name returns the words without flags, for example "bus-verify".
func (c documentedCommand) name() string {
	return strings.Join(slices.DeleteFunc(slices.Clone(c.words), func(w string) bool { return strings.HasPrefix(w, "-") }), "-")
}

// documentedCommands returns the commands of docs/commands.md, at least one of each chart that has commands.
func documentedCommands(t *testing.T) (out []documentedCommand) {
	t.Helper()
	for _, line := range installs(t, "docs/commands.md") {
		text, _, _ := strings.Cut(line.text, " >")
		_, list, found := strings.Cut(text, "command=[")
		if !found {
			continue
		}
		text, values := strings.ReplaceAll(text, " --values values.yaml", ""), strings.Contains(text, " --values values.yaml")
		words := strings.Split(strings.NewReplacer(`"`, "", "]", "", "'", "").Replace(list), ",")
		out = append(out, documentedCommand{line.chart, words, values, strings.Fields(strings.ReplaceAll(text, "'", ""))[4:]})
	}
	files, err := filepath.Glob(filepath.Join(chartsDir, "*", showCommand))
	if err != nil || len(files) == 0 {
		t.Fatalf("no charts with commands: %v", err)
	}
	for _, file := range files {
		service := filepath.Base(filepath.Dir(filepath.Dir(file)))
		if !slices.ContainsFunc(out, func(c documentedCommand) bool { return c.service == service }) {
			t.Errorf("docs/commands.md renders no command of %s", service)
		}
	}
	return out
}

// TestGoldenCommands compares the Jobs of docs/commands.md with golden files. The binaries accept their flags.
func TestGoldenCommands(t *testing.T) {
	for _, c := range documentedCommands(t) {
		args := c.flags
		if c.values {
			kase := "full"
			if slices.Contains(c.words, "migrate") { // with the Secret of a DSN
				kase = "namespaces"
			}
			args = append([]string{"--values", renders(t)[c.service][kase]}, args...)
		}
		got := render(t, c.service, args...)
		equalsGolden(t, c.service+".command-"+c.name(), got)
		acceptsFlags(t, c.service, commandJob(t, documents(t, got)).Spec.Template.Spec.Containers[0].Args)
	}
}

// acceptsFlags checks that the binary of a service accepts a command line: with --version it parses all flags and exits.
func acceptsFlags(t *testing.T, service string, args []string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary(t, service), append(args, "--version")...).CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), service) {
		t.Errorf("%v: %v: %s", args, err, out)
	}
}

// The Job has the image of the service, and the flags of the command win.
func TestCommandRunsWithSettings(t *testing.T) {
	commands := documentedCommands(t)
	each(t, func(t *testing.T, service, caseName, values string) {
		t.Helper()
		i := slices.IndexFunc(commands, func(c documentedCommand) bool { return c.service == service && c.values })
		if i < 0 || service == "status-aggregator" && caseName != "full" { // the others set no identity
			return
		}
		command := strings.Join(commands[i].words, ",") + ",--nats-url=nats://mine:1"
		docs := documents(t, render(t, service, "--values", values, "--show-only", showCommand, "--set", "image.tag=9.9.9,command={"+command+"}"))
		container := commandJob(t, docs).Spec.Template.Spec.Containers[0]
		if !strings.HasSuffix(container.Image, "/"+service+":9.9.9") {
			t.Errorf("image %s", container.Image)
		}
		acceptsFlags(t, service, container.Args)
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
