package resolve

import (
	"time"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
)

// TaskKind is one kind of lifecycle task.
type TaskKind struct {
	// Slug is the task's name in object names and labels, for example "migrate".
	Slug string
	// Type is the task's name in checksums and in status.lifecycle.lastCompletedChecksums.
	Type string
	// Phase is the lifecycle phase while the task runs.
	Phase v1alpha1.LifecyclePhase
	// StatusRef returns the task's place in the status.
	StatusRef func(*v1alpha1.LifecycleStatus) **v1alpha1.TaskRefStatus
}

// Kinds of tasks.
var (
	Preflight = TaskKind{
		Slug: "preflight", Type: "Preflight", Phase: v1alpha1.LifecycleChecking,
		StatusRef: func(s *v1alpha1.LifecycleStatus) **v1alpha1.TaskRefStatus { return &s.Preflight },
	}
	Clone = TaskKind{
		Slug: "clone", Type: "Clone", Phase: v1alpha1.LifecycleCloning,
		StatusRef: func(s *v1alpha1.LifecycleStatus) **v1alpha1.TaskRefStatus { return &s.Clone },
	}
	Migrate = TaskKind{
		Slug: "migrate", Type: "Migrate", Phase: v1alpha1.LifecycleMigrating,
		StatusRef: func(s *v1alpha1.LifecycleStatus) **v1alpha1.TaskRefStatus { return &s.Migrate },
	}
	Rotate = TaskKind{
		Slug: "rotate", Type: "Rotate", Phase: v1alpha1.LifecycleRotating,
		StatusRef: func(s *v1alpha1.LifecycleStatus) **v1alpha1.TaskRefStatus { return &s.Rotate },
	}
	Init = TaskKind{
		Slug: "init", Type: "Init", Phase: v1alpha1.LifecycleInitializing,
		StatusRef: func(s *v1alpha1.LifecycleStatus) **v1alpha1.TaskRefStatus { return &s.Init },
	}
)

// TaskKinds returns all kinds of tasks in the order in which they run.
func TaskKinds() []TaskKind { return []TaskKind{Preflight, Clone, Migrate, Rotate, Init} }

const (
	defaultTimeout = 5 * time.Minute
	// examplesTimeout is for init that loads the examples: more than 100,000 rows, one statement each.
	examplesTimeout   = 30 * time.Minute
	defaultMaxRetries = 3
)

// clones, migrates, rotates and initializes report whether a task is enabled. Clone and rotate are opt-in; migrate and
// init run unless they are disabled.
func clones(lc *v1alpha1.LifecycleSpec) bool { return lc.Clone != nil && !enabled(lc.Clone.Disabled) }

func migrates(lc *v1alpha1.LifecycleSpec) bool { return !enabled(orZero(lc.Migrate).Disabled) }

func rotates(lc *v1alpha1.LifecycleSpec) bool {
	return lc.Rotate != nil && !enabled(lc.Rotate.Disabled)
}

func initializes(lc *v1alpha1.LifecycleSpec) bool { return !enabled(orZero(lc.Init).Disabled) }

// tasks returns the enabled tasks in order.
func tasks(sup *v1alpha1.Superset) []Task {
	lc := orZero(sup.Spec.Lifecycle)
	var out []Task
	preflight := orZero(lc.Preflight)
	checks := !enabled(preflight.Disabled)
	if checks {
		out = append(out, preflightTask(sup, &preflight))
	}
	if clones(&lc) {
		out = append(out, cloneTask(sup))
	}
	if migrates(&lc) {
		migrate := orZero(lc.Migrate)
		t := supersetTask(sup, Migrate, &migrate.BaseTaskSpec)
		t.CreateDatabase = createDatabase(sup.Spec.Metastore, &t.Pod)
		t.Checks = checks && len(t.Command) == 0
		t.ServesMCP = t.Checks && servesMCP(sup, t.Image)
		out = append(out, t)
	}
	if rotates(&lc) {
		out = append(out, supersetTask(sup, Rotate, &lc.Rotate.BaseTaskSpec))
	}
	if initializes(&lc) {
		init := orZero(lc.Init)
		t := supersetTask(sup, Init, &init.BaseTaskSpec)
		t.AdminUser, t.LoadExamples = init.AdminUser, enabled(init.LoadExamples)
		t.Python.Examples = t.LoadExamples
		if init.Timeout == nil {
			t.Timeout = t.DefaultTimeout()
		}
		out = append(out, t)
	}
	return out
}

// preflightTask resolves the check that runs while the components serve. The trigger of the rotation, which it
// precedes, runs it again too.
func preflightTask(sup *v1alpha1.Superset, spec *v1alpha1.PreflightSpec) Task {
	base := v1alpha1.BaseTaskSpec{Timeout: spec.Timeout, RequiresDrain: new(bool)}
	lc := orZero(sup.Spec.Lifecycle)
	if rotates(&lc) {
		base.Trigger = lc.Rotate.Trigger
	}
	t := supersetTask(sup, Preflight, &base)
	t.Rotates, t.CheckTrigger = rotates(&lc), spec.Trigger
	t.SkipsMigration = !migrates(&lc)
	t.ServesMCP = servesMCP(sup, t.Image)
	t.CreatesDatabase = clones(&lc) || migrates(&lc) && createDatabase(sup.Spec.Metastore, &t.Pod) != nil
	return t
}

// servesMCP reports whether the MCP server runs the given image.
func servesMCP(sup *v1alpha1.Superset, image string) bool {
	if sup.Spec.MCPServer == nil {
		return false
	}
	serverImage, _ := overrideImage(&sup.Spec.Image, sup.Spec.MCPServer.Image)
	return serverImage == image
}

// supersetTask resolves a task that runs Superset's own command.
func supersetTask(sup *v1alpha1.Superset, kind TaskKind, base *v1alpha1.BaseTaskSpec) Task {
	spec, lc := &sup.Spec, orZero(sup.Spec.Lifecycle)
	image, policy := overrideImage(&spec.Image, lc.Image)
	t := Task{Workload: Workload{
		Superset: sup.Name, Namespace: sup.Namespace, Slug: kind.Slug,
		Name: names.Job(sup.Name, kind.Slug), ConfigName: names.Config(sup.Name, kind.Slug),
		Labels:         names.Task(sup.Name, kind.Slug),
		ServiceAccount: names.ServiceAccount(sup),
		Image:          image, PullPolicy: policy, PullSecrets: spec.Image.PullSecrets,
		Pod:       podTemplate(spec.PodTemplate, lc.PodTemplate),
		Bootstrap: orZero(first(lc.BootstrapScript, spec.BootstrapScript)),
		Inputs:    inputs(sup),
	}}
	t.common(kind, base, lc.PodRetention)
	t.Python = python(sup, lc.Config)
	t.Python.Pool = taskPool(first(lc.SQLAEngineOptions, spec.SQLAEngineOptions))
	return t
}

// DefaultTimeout returns the timeout of the task if the user sets none.
func (t *Task) DefaultTimeout() time.Duration {
	if t.LoadExamples {
		return examplesTimeout
	}
	return defaultTimeout
}

// common resolves the settings of all kinds of tasks.
func (t *Task) common(kind TaskKind, base *v1alpha1.BaseTaskSpec, retention *v1alpha1.PodRetentionSpec) {
	t.Kind, t.Command, t.Trigger = kind, base.Command, base.Trigger
	t.Timeout, t.MaxRetries = defaultTimeout, or(base.MaxRetries, defaultMaxRetries)
	if base.Timeout != nil {
		// A Job's deadline is in whole seconds and at least one.
		t.Timeout = max(base.Timeout.Truncate(time.Second), time.Second)
	}
	// Roles and permissions can safely change while components run; schemas and keys cannot.
	t.RequiresDrain = or(base.RequiresDrain, kind.Type != Init.Type)
	t.Retention = v1alpha1.RetentionRetainOnFailure
	if policy := orZero(retention).Policy; policy != "" {
		t.Retention = policy
	}
}

func taskImage(sup *v1alpha1.Superset) string {
	image, _ := overrideImage(&sup.Spec.Image, orZero(sup.Spec.Lifecycle).Image)
	return image
}

func enabled(flag *bool) bool { return flag != nil && *flag }

// IgnoredFields lists the fields that have no effect in tasks that have run, in the format of [Validate]: rejecting them would
// block the reconciles of a Superset that works without them. For tasks that have not run, they are violations.
func IgnoredFields(sup *v1alpha1.Superset) []string {
	ignored, _ := ignoredFields(sup)
	return ignored
}

// ignoredFields returns the commands and arguments in pod templates of tasks, whose own command has another field. They are
// rejected for a task that has not run: its default command would run instead, and that of a clone drops a database.
// The preflight has no command of its own.
func ignoredFields(sup *v1alpha1.Superset) (ignored, rejected violations) {
	lc := orZero(sup.Spec.Lifecycle)
	check := func(kind TaskKind, path string, template *v1alpha1.PodTemplate, command []string) {
		c, out := orZero(orZero(template).Container), &rejected
		if hasRun(sup.Status.Lifecycle, kind) {
			out = &ignored
		}
		if len(c.Command) > 0 && len(command) == 0 {
			out.add(path+".command", "has no effect on task %[1]s: set spec.lifecycle.%[1]s.command instead", kind.Slug)
		}
		if len(c.Args) > 0 {
			out.add(path+".args", "have no effect on task %[1]s: add them to spec.lifecycle.%[1]s.command instead", kind.Slug)
		}
	}
	if enabled(lc.Disabled) {
		return nil, nil
	}
	const path = "spec.lifecycle.podTemplate.container"
	if clones(&lc) {
		check(Clone, "spec.lifecycle.clone.podTemplate.container", lc.Clone.PodTemplate, lc.Clone.Command)
	}
	if migrates(&lc) {
		check(Migrate, path, lc.PodTemplate, orZero(lc.Migrate).Command)
	}
	if rotates(&lc) {
		check(Rotate, path, lc.PodTemplate, lc.Rotate.Command)
	}
	if initializes(&lc) {
		check(Init, path, lc.PodTemplate, orZero(lc.Init).Command)
	}
	return ignored, rejected
}

// hasRun reports whether a task has started at least once, possibly by an earlier operator.
func hasRun(status *v1alpha1.LifecycleStatus, kind TaskKind) bool {
	s := orZero(status)
	entry := orZero(*kind.StatusRef(&s))
	return entry.StartedAt != nil || entry.State == v1alpha1.TaskComplete || s.CompletedInputs[kind.Type] != "" || s.LastCompletedChecksums[kind.Type] != ""
}
