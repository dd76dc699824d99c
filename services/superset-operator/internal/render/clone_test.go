package render_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/scripts"
)

// taskPod renders the pod of a task of the golden case "staging".
func taskPod(t *testing.T, slug string, edit func(*v1alpha1.SupersetSpec)) corev1.PodSpec {
	t.Helper()
	sup := load(t, "staging")
	edit(&sup.Spec)
	plan := resolve.For(sup, resolve.Options{})
	for i := range plan.Tasks {
		if plan.Tasks[i].Slug != slug {
			continue
		}
		job, err := render.Job(&plan.Tasks[i], "sum", 1)
		if err != nil {
			t.Fatal(err)
		}
		return job.Spec.Template.Spec
	}
	t.Fatalf("no task %s", slug)
	return corev1.PodSpec{}
}

// TestW5UserTextReachesCloneByEnvironmentOnly checks that text of the user is unchanged in the environment and not
// part of the command.
func TestW5UserTextReachesCloneByEnvironmentOnly(t *testing.T) {
	malicious := "MARK'\"`$(HOME) $$ $HOME\\\nü'"
	pod := taskPod(t, "clone", func(s *v1alpha1.SupersetSpec) {
		c := s.Lifecycle.Clone
		c.Source.Host, c.Source.Database, c.Source.Username = malicious, malicious, malicious
		c.ExcludeTables, c.ExcludeTableData, c.PostCloneSQL = []string{malicious}, []string{"a", malicious}, []string{malicious, "b"}
		s.Metastore.Host, s.Metastore.Database, s.Metastore.Username = &malicious, &malicious, &malicious
	})
	main := pod.Containers[0]
	if strings.Contains(strings.Join(main.Command, " "), "MARK") {
		t.Error("text of the user is in the command")
	}
	const p = "SUPERSET_OPERATOR__"
	want := map[string]string{
		"HTTPS_PROXY":        "http://proxy:3128",
		p + "CLONE_SRC_HOST": malicious, p + "CLONE_SRC_PORT": "5432", p + "CLONE_SRC_DB": malicious, p + "CLONE_SRC_USER": malicious,
		p + "CLONE_SRC_PASS": "prod-reader/password",
		p + "DB_HOST":        malicious, p + "DB_PORT": "5432", p + "DB_NAME": malicious, p + "DB_USER": malicious, p + "DB_PASS": "staging-db/password",
		p + "CLONE_EXCLUDE_TABLE_0": malicious, p + "CLONE_EXCLUDE_TABLE_DATA_0": "a", p + "CLONE_EXCLUDE_TABLE_DATA_1": malicious,
		p + "CLONE_POST_SQL_0": malicious, p + "CLONE_POST_SQL_1": "b",
	}
	if diff := cmp.Diff(want, expand(main.Env)); diff != "" {
		t.Errorf("environment differs (-want +got):\n%s", diff)
	}
}

// TestScriptsReachShellUnchanged expands the commands like Kubernetes.
func TestScriptsReachShellUnchanged(t *testing.T) {
	command := func(c corev1.Container) []string {
		var out []string
		for _, slug := range c.Command {
			out = append(out, expand([]corev1.EnvVar{{Name: "word", Value: slug}})["word"])
		}
		return out
	}
	for _, kind := range []v1alpha1.DatabaseType{v1alpha1.PostgreSQL, v1alpha1.MySQL} {
		edit := func(s *v1alpha1.SupersetSpec) { s.Metastore.Type, s.Lifecycle.Clone.Source.Type = &kind, &kind }
		want := []string{"/bin/sh", "-c", scripts.Clone(kind)}
		if diff := cmp.Diff(want, command(taskPod(t, "clone", edit).Containers[0])); diff != "" {
			t.Errorf("clone of %s differs (-want +got):\n%s", kind, diff)
		}
		want[2] = scripts.CreateDatabase(kind)
		if diff := cmp.Diff(want, command(taskPod(t, "migrate", edit).InitContainers[0])); diff != "" {
			t.Errorf("create-database of %s differs (-want +got):\n%s", kind, diff)
		}
	}
	got := command(taskPod(t, "init", func(s *v1alpha1.SupersetSpec) {
		s.BootstrapScript = nil
		s.Lifecycle.Init = &v1alpha1.InitTaskSpec{AdminUser: &v1alpha1.AdminUserSpec{}, LoadExamples: new(true)}
	}).Containers[0])
	if diff := cmp.Diff([]string{"/bin/sh", "-c", scripts.InitWithAdmin() + "superset load-examples"}, got); diff != "" {
		t.Errorf("init differs (-want +got):\n%s", diff)
	}
}

func TestTaskCommands(t *testing.T) {
	own := []string{"/own", "$(HOME)"}
	check := func(mode string) string {
		return "if ! command -v python3 > /dev/null; then\n" +
			"  echo \"preflight: the image contains no Superset: it has no python3. Correct spec.image\" >&2\n  exit 1\nfi\n" +
			"python3 /app/pythonpath/superset_preflight.py " + mode
	}
	cases := map[string]struct {
		slug string
		edit func(*v1alpha1.SupersetSpec)
		want []string
	}{
		"migrate":                       {"migrate", func(*v1alpha1.SupersetSpec) {}, []string{"/bin/sh", "-c", check("wait") + " && superset db upgrade"}},
		"migrate without checks":        {"migrate", func(s *v1alpha1.SupersetSpec) { s.Lifecycle.Preflight = &v1alpha1.PreflightSpec{Disabled: new(true)} }, []string{"/bin/sh", "-c", "superset db upgrade"}},
		"a migrate command of the user": {"migrate", func(s *v1alpha1.SupersetSpec) { s.Lifecycle.Migrate.Command = own }, own},
		"rotate":                        {"rotate", func(*v1alpha1.SupersetSpec) {}, []string{"/bin/sh", "-c", "exec python3 /app/pythonpath/superset_secret_keys.py rotate /dev/termination-log"}},
		"preflight":                     {"preflight", func(*v1alpha1.SupersetSpec) {}, []string{"/bin/sh", "-c", check("once") + " && exec python3 /app/pythonpath/superset_secret_keys.py check /dev/termination-log"}},
		"init":                          {"init", func(*v1alpha1.SupersetSpec) {}, []string{"/bin/sh", "-c", "superset init"}},
		"examples":                      {"init", func(s *v1alpha1.SupersetSpec) { s.Lifecycle.Init.LoadExamples = new(true) }, []string{"/bin/sh", "-c", "superset init && superset load-examples"}},
		"a clone command of the user":   {"clone", func(s *v1alpha1.SupersetSpec) { s.Lifecycle.Clone.Command = own }, own},
		"a rotate command of the user":  {"rotate", func(s *v1alpha1.SupersetSpec) { s.Lifecycle.Rotate.Command = own }, own},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			main := taskPod(t, tc.slug, func(s *v1alpha1.SupersetSpec) { s.BootstrapScript = nil; tc.edit(s) }).Containers[0]
			if diff := cmp.Diff(tc.want, main.Command); diff != "" {
				t.Errorf("command differs (-want +got):\n%s", diff)
			}
			if main.TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError {
				t.Errorf("termination messages are %q", main.TerminationMessagePolicy)
			}
			if tc.slug == "clone" && len(main.Env) < 10 {
				t.Errorf("the user's command has only %d variables", len(main.Env))
			}
		})
	}
}

func TestCreateDatabaseRunsFirstInMigrateOnly(t *testing.T) {
	names := func(list []corev1.Container) []string {
		var out []string
		for _, c := range list {
			out = append(out, c.Name+" "+c.Image)
		}
		return out
	}
	migrate := taskPod(t, "migrate", func(*v1alpha1.SupersetSpec) {})
	want := []string{"create-database postgres:17-alpine", "wait user/wait:1"}
	if diff := cmp.Diff(want, names(migrate.InitContainers)); diff != "" {
		t.Errorf("init containers of migrate differ (-want +got):\n%s", diff)
	}
	without := taskPod(t, "migrate", func(s *v1alpha1.SupersetSpec) { s.Metastore.CreateDatabase = nil })
	want = []string{"create-database user/own:1", "wait user/wait:1"}
	if diff := cmp.Diff(want, names(without.InitContainers)); diff != "" {
		t.Errorf("init containers without createDatabase differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, names(taskPod(t, "rotate", func(*v1alpha1.SupersetSpec) {}).InitContainers)); diff != "" {
		t.Errorf("init containers of rotate differ (-want +got):\n%s", diff)
	}
	c := migrate.InitContainers[0]
	const p = "SUPERSET_OPERATOR__DB_"
	env := map[string]string{
		p + "HOST": "postgres-staging.db.svc", p + "PORT": "5432", p + "NAME": "superset_staging", p + "USER": "superset_admin", p + "PASS": "staging-db/password",
	}
	if diff := cmp.Diff(env, expand(c.Env)); diff != "" {
		t.Errorf("environment differs (-want +got):\n%s", diff)
	}
	if c.Resources.Limits.Memory().String() != "2Gi" {
		t.Errorf("resources %v", c.Resources)
	}
}
