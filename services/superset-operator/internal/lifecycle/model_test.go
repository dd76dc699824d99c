package lifecycle_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// spec is the spec that the user of the model sets.
type spec struct {
	image               string
	settings            int // configuration, metastore and broker
	trigger             map[string]int
	pod                 int
	disabled            map[string]bool
	lifecycleOff        bool
	supervised, stopped bool
	components, page    bool
	zero                bool // the components request no pods
	foreign             []string
	cron                bool // the clone has a schedule: every hour
	cronErr             error
}

// model models a cluster: the persisted state, the existing objects, and the history.
type model struct {
	spec      spec
	status    *v1alpha1.LifecycleStatus
	lastImage string
	jobs      map[string]lifecycle.Job
	former    []string // pods that outlive their Job
	web       deployment
	worker    deployment
	rejected  bool // the API server rejects applies of the worker
	webReady  bool
	page      lifecycle.Page
	pageUp    bool
	approval  [2]string // approve-upgrade, approve-downgrade
	now       time.Time

	serial int
	// succeeded holds, by task, the checksums that completed on the current database.
	succeeded map[string]map[string]bool
	// cloned is the checksum that the clone last completed for. A counted attempt of the clone clears it, since it
	// may have dropped the database.
	cloned string
	// verifiedKeys is the checksum of the keys that the check last completed for, or that the components ran with before
	// the first check. A started check clears it.
	verifiedKeys string
	// accepted holds the inputs and settings of all complete preflights, and those that components ran with before.
	accepted map[string]bool
	// abandoned are Jobs whose result no longer counts, since their deletion was decided.
	abandoned map[types.UID]bool
	// migrated is the newest image that migrate completed for since the components last ran; empty for none.
	migrated string
	// metastore is the image that the metastore is for, or an older one that ran on it since.
	metastore string
	// drainTaskStarted is true from the first Job that requires a drain until the components run again.
	drainTaskStarted bool
	// started is the token of the sequence that was reported as started, empty for one without an image change; nil for
	// none.
	started *string
	// allowed holds the tokens of changes that may continue.
	allowed      map[string]bool
	lastDecision lifecycle.Decision
}

const podsEach = 2 // of each component

var retention = map[string]v1alpha1.RetentionPolicy{
	"clone": v1alpha1.RetentionRetain, "migrate": v1alpha1.RetentionDelete, "init": v1alpha1.RetentionRetainOnFailure,
}

func newModel() *model {
	return &model{
		spec: spec{
			image: "superset:1.0.0", trigger: map[string]int{}, disabled: map[string]bool{"rotate": true},
			components: true, page: true,
		},
		jobs: map[string]lifecycle.Job{}, succeeded: map[string]map[string]bool{}, accepted: map[string]bool{},
		abandoned: map[types.UID]bool{}, allowed: map[string]bool{}, now: now,
	}
}

// input returns the input that the controller passes.
func (m *model) input() lifecycle.Input {
	in := lifecycle.Input{
		Name: "x", Jobs: maps.Clone(m.jobs), FormerPods: slices.Clone(m.former),
		Status: m.status.DeepCopy(), LastImage: m.lastImage, Image: m.spec.image,
		Components: m.spec.components, Disabled: m.spec.lifecycleOff, Stopped: m.spec.stopped, Now: m.now,
		Gate: lifecycle.Gate{Supervised: m.spec.supervised, Approval: m.approval[0], DowngradeApproval: m.approval[1]},
		Workloads: lifecycle.Workloads{
			Desired: m.desired() > 0, Exist: m.exist(), Idle: m.exist() && m.size() == 0, Pods: m.pods(), Foreign: m.spec.foreign,
			WebDesired: m.desired() > 0, WebExists: m.web.size > 0, WebReady: m.web.exists && m.webReady,
		},
		Page: m.page,
	}
	in.Page.Configured = m.spec.page && m.spec.components
	scheduled := ""
	if m.spec.cron && !m.spec.disabled["clone"] {
		in.Schedule = m.schedule()
		scheduled = in.Schedule.ScheduledTime.Format(time.RFC3339)
	} else if lastTime := lifecycle.LastTime(m.status); lastTime != nil {
		scheduled = lastTime.Format(time.RFC3339)
	}
	in.Steps = m.steps(scheduled)
	return in
}

// desired returns the number of pods of each component of the spec.
func (m *model) desired() int {
	if !m.spec.components || m.spec.stopped || m.spec.zero {
		return 0
	}
	return podsEach
}

func (m *model) schedule() *lifecycle.Schedule {
	if m.spec.cronErr != nil {
		return &lifecycle.Schedule{Err: m.spec.cronErr}
	}
	s := &lifecycle.Schedule{ScheduledTime: m.now.Truncate(time.Hour), Next: m.now.Truncate(time.Hour).Add(time.Hour)}
	if frozen := lifecycle.FrozenTime(m.status); frozen != nil {
		s.ScheduledTime = *frozen
	}
	return s
}

// steps returns the tasks with checksums that are chained as in package desired.
func (m *model) steps(scheduled string) []lifecycle.Step {
	if m.spec.lifecycleOff {
		return nil
	}
	var completed map[string]string
	if m.status != nil {
		completed = m.status.CompletedInputs
	}
	var out []lifecycle.Step
	var chain []string
	if !m.spec.disabled["preflight"] {
		// The preflight is not part of the chain.
		keys := fmt.Sprint("keys ", m.spec.trigger["preflight"])
		settings := fmt.Sprint(keys, ", settings ", m.spec.settings)
		out = append(out, lifecycle.Step{
			Kind: resolve.Preflight, JobName: "x-preflight", Checksum: settings + ", " + m.spec.image,
			KeysChecksum: keys, SettingsChecksum: settings,
			PodHash: fmt.Sprint("pod", m.spec.pod), Image: m.spec.image, MaxRetries: 2,
		})
	}
	for _, kind := range resolve.TaskKinds() {
		if kind.Type == resolve.Preflight.Type {
			continue
		}
		if m.spec.disabled[kind.Slug] {
			if completed[kind.Type] != "" {
				chain = append(chain, completed[kind.Type])
			}
			continue
		}
		own := fmt.Sprintf("%s/%s/%d", kind.Slug, strings.TrimPrefix(m.spec.image, "superset:"), m.spec.trigger[kind.Slug])
		switch kind.Slug {
		case "clone":
			own += "/" + scheduled
		case "init":
			own += fmt.Sprint("/", m.spec.settings)
		}
		chain = append(chain, own)
		out = append(out, lifecycle.Step{
			Kind: kind, JobName: "x-" + kind.Slug, Inputs: own, Checksum: strings.Join(chain, " "),
			PodHash: fmt.Sprint("pod", m.spec.pod), Image: m.spec.image, MaxRetries: 2,
			RequiresDrain: kind.Slug != "init", Retention: retention[kind.Slug],
		})
	}
	return out
}

// reconcile decides, persists and acts, and crashes after the given number of writes.
func (m *model) reconcile(t rapid.TB, writes int) {
	in := m.input()
	d := lifecycle.Decide(in)
	m.checkDecision(t, in, d)
	if writes == 0 {
		return
	}
	if clones(d) {
		m.cloned = ""
	}
	for _, a := range d.Actions {
		m.abandoned[a.UID] = true
	}
	m.allow()
	m.checkStarted(t, d)
	m.status, m.lastImage, m.lastDecision = d.Status, d.LastImage, d
	for _, write := range m.writesOf(t, in, d) {
		if writes--; writes == 0 {
			return
		}
		write()
		m.checkImages(t, d)
	}
	m.checkServing(t, in, d)
	m.checkNext(t, in, d)
}

func (m *model) accept(step lifecycle.Step) {
	m.accepted[step.Checksum], m.accepted[step.SettingsChecksum] = true, true
}
