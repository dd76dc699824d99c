package desired_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/checksum"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// ownInputs returns the fingerprints of the tasks' own inputs of the golden case "staging".
func ownInputs(t *testing.T, scheduled string, edit func(*v1alpha1.SupersetSpec)) map[string]string {
	t.Helper()
	sup := load(t, "testdata/staging/superset.yaml")
	edit(&sup.Spec)
	state, err := desired.For(desired.Input{Superset: sup, ScheduledTime: scheduled})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, task := range state.Tasks {
		if task.Inputs != "" { // preflight is not part of the chain
			out[task.Slug] = task.Inputs
		}
	}
	return out
}

// TestW14TaskChecksumInputs lists the inputs of each task. No other change runs a task again, in particular not a
// clone, which drops a database.
func TestW14TaskChecksumInputs(t *testing.T) {
	spec := func(edit func(*v1alpha1.SupersetSpec)) func(*v1alpha1.SupersetSpec) { return edit }
	clone := func(edit func(*v1alpha1.CloneTaskSpec)) func(*v1alpha1.SupersetSpec) {
		return func(s *v1alpha1.SupersetSpec) { edit(s.Lifecycle.Clone) }
	}
	ref := func(name string) *corev1.SecretKeySelector {
		return &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: "k"}
	}
	cases := map[string]struct {
		edit func(*v1alpha1.SupersetSpec)
		want string // the tasks that run again
	}{
		"nothing":                        {spec(func(*v1alpha1.SupersetSpec) {}), ""},
		"another target image":           {spec(func(s *v1alpha1.SupersetSpec) { s.Image.Tag = "6.1.0" }), "clone init migrate rotate"},
		"clone trigger":                  {clone(func(c *v1alpha1.CloneTaskSpec) { c.Trigger = "again" }), "clone"},
		"clone command":                  {clone(func(c *v1alpha1.CloneTaskSpec) { c.Command = []string{"own"} }), "clone"},
		"clone image":                    {clone(func(c *v1alpha1.CloneTaskSpec) { c.Image = &v1alpha1.ContainerImageSpec{Tag: "16"} }), "clone"},
		"source type":                    {clone(func(c *v1alpha1.CloneTaskSpec) { c.Source.Type = new(v1alpha1.MySQL) }), "clone"},
		"source host":                    {clone(func(c *v1alpha1.CloneTaskSpec) { c.Source.Host = "other" }), "clone"},
		"source port":                    {clone(func(c *v1alpha1.CloneTaskSpec) { c.Source.Port = new(int32(1)) }), "clone"},
		"source database":                {clone(func(c *v1alpha1.CloneTaskSpec) { c.Source.Database = "other" }), "clone"},
		"source user":                    {clone(func(c *v1alpha1.CloneTaskSpec) { c.Source.Username = "other" }), "clone"},
		"source password's reference":    {clone(func(c *v1alpha1.CloneTaskSpec) { c.Source.PasswordFrom = ref("other") }), "clone"},
		"source password inline":         {clone(func(c *v1alpha1.CloneTaskSpec) { c.Source.PasswordFrom, c.Source.Password = nil, new("p") }), "clone"},
		"excluded tables":                {clone(func(c *v1alpha1.CloneTaskSpec) { c.ExcludeTables = append(c.ExcludeTables, "x") }), "clone"},
		"excluded data":                  {clone(func(c *v1alpha1.CloneTaskSpec) { c.ExcludeTableData = []string{"logs"} }), "clone"},
		"SQL after the clone":            {clone(func(c *v1alpha1.CloneTaskSpec) { c.PostCloneSQL[0] += " " }), "clone"},
		"the default port, explicit":     {clone(func(c *v1alpha1.CloneTaskSpec) { c.Source.Port = new(int32(5432)) }), ""},
		"pull policy of the clone":       {clone(func(c *v1alpha1.CloneTaskSpec) { c.Image = &v1alpha1.ContainerImageSpec{PullPolicy: "Always"} }), ""},
		"timeout of the clone":           {clone(func(c *v1alpha1.CloneTaskSpec) { c.Timeout, c.MaxRetries = nil, new(int32(9)) }), ""},
		"pod and retention of the clone": {clone(func(c *v1alpha1.CloneTaskSpec) { c.PodTemplate, c.PodRetention, c.RequiresDrain = nil, nil, new(false) }), ""},
		"no database to create":          {spec(func(s *v1alpha1.SupersetSpec) { s.Metastore.CreateDatabase = nil }), "migrate"},
		"another database to create":     {spec(func(s *v1alpha1.SupersetSpec) { s.Metastore.Database = new("other") }), "init migrate"},
		"another server to create on":    {spec(func(s *v1alpha1.SupersetSpec) { s.Metastore.Host = new("other") }), "init migrate"},
		"another host, nothing to create": {spec(func(s *v1alpha1.SupersetSpec) {
			s.Metastore.CreateDatabase, s.Metastore.Host = nil, new("other")
		}), "init migrate"},
		"the key's reference":          {spec(func(s *v1alpha1.SupersetSpec) { s.SecretKeyFrom = ref("other") }), "init rotate"},
		"the previous key's reference": {spec(func(s *v1alpha1.SupersetSpec) { s.PreviousSecretKeyFrom = ref("other") }), "init rotate"},
		"rotate trigger":               {spec(func(s *v1alpha1.SupersetSpec) { s.Lifecycle.Rotate.Trigger = "again" }), "rotate"},
		"shared Python":                {spec(func(s *v1alpha1.SupersetSpec) { s.Config = new("A = 1\n") }), "init"},
		"bootstrap script":             {spec(func(s *v1alpha1.SupersetSpec) { s.BootstrapScript = nil }), "init migrate rotate"},
		"pods of all":                  {spec(func(s *v1alpha1.SupersetSpec) { s.PodTemplate, s.Lifecycle.PodTemplate = nil, nil }), ""},
	}
	before := ownInputs(t, "", func(*v1alpha1.SupersetSpec) {})
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, changedTasks(before, ownInputs(t, "", tc.edit))); diff != "" {
				t.Errorf("tasks differ (-want +got):\n%s", diff)
			}
		})
	}
	if got := changedTasks(before, ownInputs(t, "2026-11-21T02:00:00Z", func(*v1alpha1.SupersetSpec) {})); got != "clone" {
		t.Errorf("another scheduled time runs %q", got)
	}
	hosts := func(host string) map[string]string {
		return ownInputs(t, "", func(s *v1alpha1.SupersetSpec) { s.Metastore.CreateDatabase, s.Metastore.Host = nil, &host })
	}
	if got := changedTasks(hosts("one"), hosts("two")); got != "init" {
		t.Errorf("without a database to create another host runs %q", got)
	}
}

func changedTasks(a, b map[string]string) string {
	var out []string
	for _, slug := range slices.Sorted(maps.Keys(a)) {
		if a[slug] != b[slug] {
			out = append(out, slug)
		}
	}
	return strings.Join(out, " ")
}

// TestW14TaskFingerprintsArePinned pins the fingerprints across releases, regardless of changes of scripts, templates
// and Go types. Another value runs the task on every installation, and the clone drops the database.
func TestW14TaskFingerprintsArePinned(t *testing.T) {
	want := map[string]string{
		"clone":   "sha256:b8ef45e54bc9083f80462bb9029e243d34d30b11e305d8e39a00d29dd861e268",
		"init":    "sha256:7df008d84584c6bbec10702beb1cc8a9d643dcc220ffd526c7eedf5709dfd472",
		"migrate": "sha256:783c1350b28bc553086187da4ee2eeecd619d4875b93bb5f66ee79cb54c0bbdf",
		"rotate":  "sha256:f98e58fd651f2370651463d2fbeb67024e9e5e4531fa958bc7b6dc43c3eefc7a",
	}
	if diff := cmp.Diff(want, ownInputs(t, "2026-11-21T02:00:00Z", func(*v1alpha1.SupersetSpec) {})); diff != "" {
		t.Errorf("fingerprints differ (-want +got):\n%s", diff)
	}
}

// TestTaskPodHashInputs lists what retries a task that failed permanently, with the tasks whose fingerprint changes.
func TestTaskPodHashInputs(t *testing.T) {
	migrate := func(edit func(*v1alpha1.MigrateTaskSpec)) func(*v1alpha1.SupersetSpec) {
		return func(s *v1alpha1.SupersetSpec) { edit(s.Lifecycle.Migrate) }
	}
	pod := func(template v1alpha1.PodTemplate) func(*v1alpha1.SupersetSpec) {
		return func(s *v1alpha1.SupersetSpec) { s.Lifecycle.PodTemplate = &template }
	}
	labels := func(key, value string) map[string]string { return map[string]string{key: value} }
	const all, supersets = "clone init migrate preflight rotate", "init migrate preflight rotate"
	cases := map[string]struct {
		edit func(*v1alpha1.SupersetSpec)
		want string
	}{
		"nothing":                {func(*v1alpha1.SupersetSpec) {}, ""},
		"label":                  {pod(v1alpha1.PodTemplate{Labels: labels("azure.workload.identity/use", "true")}), supersets},
		"annotation":             {pod(v1alpha1.PodTemplate{Annotations: labels("sidecar.istio.io/inject", "false")}), supersets},
		"label of all pods":      {func(s *v1alpha1.SupersetSpec) { s.PodTemplate.Labels = labels("team", "bi") }, all},
		"annotation of all pods": {func(s *v1alpha1.SupersetSpec) { s.PodTemplate.Annotations = labels("team", "bi") }, all},
		"label of the clone": {func(s *v1alpha1.SupersetSpec) {
			s.Lifecycle.Clone.PodTemplate = &v1alpha1.PodTemplate{Labels: labels("team", "bi")}
		}, "clone"},
		"timeout":                      {migrate(func(m *v1alpha1.MigrateTaskSpec) { m.Timeout = &metav1.Duration{Duration: time.Hour} }), "migrate"},
		"timeout of the clone":         {func(s *v1alpha1.SupersetSpec) { s.Lifecycle.Clone.Timeout = &metav1.Duration{Duration: time.Hour} }, "clone"},
		"priority class":               {pod(v1alpha1.PodTemplate{PriorityClassName: new("high")}), supersets},
		"image":                        {func(s *v1alpha1.SupersetSpec) { s.Image.Tag = "6.1.0" }, supersets},
		"default timeout, explicit":    {migrate(func(m *v1alpha1.MigrateTaskSpec) { m.Timeout = &metav1.Duration{Duration: 5 * time.Minute} }), ""},
		"empty labels and annotations": {pod(v1alpha1.PodTemplate{Labels: map[string]string{}, Annotations: map[string]string{}}), ""},
		"label of the operator":        {pod(v1alpha1.PodTemplate{Labels: labels(v1alpha1.LabelTask, "own")}), ""},
		"trigger":                      {migrate(func(m *v1alpha1.MigrateTaskSpec) { m.Trigger = "again" }), ""},
		"retries and drain":            {migrate(func(m *v1alpha1.MigrateTaskSpec) { m.MaxRetries, m.RequiresDrain = new(int32(9)), new(false) }), ""},
		"retention":                    {func(s *v1alpha1.SupersetSpec) { s.Lifecycle.PodRetention = nil }, ""},
	}
	before := podHashes(t, func(*v1alpha1.SupersetSpec) {})
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, changedTasks(before, podHashes(t, tc.edit))); diff != "" {
				t.Errorf("tasks differ (-want +got):\n%s", diff)
			}
		})
	}
	examples := func(timeout *metav1.Duration) map[string]string {
		return podHashes(t, func(s *v1alpha1.SupersetSpec) {
			s.Lifecycle.Init.LoadExamples, s.Lifecycle.Init.Timeout = new(true), timeout
		})
	}
	if got := changedTasks(examples(nil), examples(&metav1.Duration{Duration: 30 * time.Minute})); got != "" {
		t.Errorf("the default timeout with examples changes %q", got)
	}
	if got := changedTasks(examples(nil), examples(&metav1.Duration{Duration: 5 * time.Minute})); got != "init" {
		t.Errorf("a shorter timeout than the default with examples changes %q", got)
	}
}

// podHashes returns the fingerprints of the tasks' pods of the golden case "staging", without its labels, its
// annotations, its timeouts and the pod template of its tasks.
func podHashes(t *testing.T, edit func(*v1alpha1.SupersetSpec)) map[string]string {
	t.Helper()
	sup := load(t, "testdata/staging/superset.yaml")
	lc := sup.Spec.Lifecycle
	sup.Spec.PodTemplate.Labels, sup.Spec.PodTemplate.Annotations, lc.PodTemplate = nil, nil, nil
	lc.Migrate, lc.Clone.Timeout, lc.Clone.PodTemplate = &v1alpha1.MigrateTaskSpec{}, nil, nil
	edit(&sup.Spec)
	state, err := desired.For(desired.Input{Superset: sup})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, task := range state.Tasks {
		out[task.Slug] = task.PodHash
	}
	return out
}

// TestTaskPodHashIsPinned pins the form of the fingerprint across releases: with neither metadata nor a timeout of the
// user it covers the pod's spec only, of a preflight without what it learns from a complete migration. Another form
// retries each task that failed permanently.
func TestTaskPodHashIsPinned(t *testing.T) {
	sup := load(t, "testdata/staging/superset.yaml")
	sup.Spec.PodTemplate.Labels, sup.Spec.PodTemplate.Annotations, sup.Spec.Lifecycle = nil, nil, nil
	sup.Spec.Metastore.CreateDatabase = nil // it depends on the migration too
	complete := func(resolve.TaskKind, string) bool { return true }
	state, err := desired.For(desired.Input{Superset: sup, Completed: complete})
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range state.Tasks {
		job, err := render.Job(&task.Task, "sum", 1)
		if err != nil {
			t.Fatal(err)
		}
		main := &job.Spec.Template.Spec.Containers[0]
		main.Env = slices.DeleteFunc(main.Env, func(v corev1.EnvVar) bool { return v.Name == "SUPERSET_OPERATOR__MIGRATED" })
		text, err := json.Marshal(&job.Spec.Template.Spec)
		if err != nil {
			t.Fatal(err)
		}
		want := checksum.New("pod").String("spec", string(text)).Sum()
		if got := job.Annotations[v1alpha1.AnnotationPodSpecHash]; task.PodHash != want || got != want {
			t.Errorf("task %s has %s and its Job %s, want %s", task.Slug, task.PodHash, got, want)
		}
	}
}
