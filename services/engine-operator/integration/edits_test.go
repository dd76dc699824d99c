package integration

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
)

// manualEdits are manual edits of a StatefulSet: of rendered fields, and
// of other fields.
var manualEdits = map[string]func(*appsv1.StatefulSetSpec, *corev1.PodSpec, *corev1.Container){
	"the command": func(_ *appsv1.StatefulSetSpec, _ *corev1.PodSpec, c *corev1.Container) {
		c.Command = []string{"sleep"}
	},
	"an argument": func(_ *appsv1.StatefulSetSpec, _ *corev1.PodSpec, c *corev1.Container) {
		c.Args = append(c.Args, "-x")
	},
	"a probe": func(_ *appsv1.StatefulSetSpec, _ *corev1.PodSpec, c *corev1.Container) {
		c.LivenessProbe.PeriodSeconds = 99
	},
	"the image": func(_ *appsv1.StatefulSetSpec, _ *corev1.PodSpec, c *corev1.Container) {
		c.Image = "example.com/engine:9"
	},
	"an amount": func(_ *appsv1.StatefulSetSpec, _ *corev1.PodSpec, c *corev1.Container) {
		c.Resources.Requests[corev1.ResourceCPU] = new(c.Resources.Requests[corev1.ResourceMemory]).DeepCopy()
	},
	"the replicas": func(s *appsv1.StatefulSetSpec, _ *corev1.PodSpec, _ *corev1.Container) { s.Replicas = new(int32(1)) },
	"a volume": func(_ *appsv1.StatefulSetSpec, p *corev1.PodSpec, _ *corev1.Container) {
		p.Volumes = p.Volumes[:len(p.Volumes)-1]
	},
	"a pull secret": func(_ *appsv1.StatefulSetSpec, p *corev1.PodSpec, _ *corev1.Container) { p.ImagePullSecrets = nil },
	"a pod label": func(s *appsv1.StatefulSetSpec, _ *corev1.PodSpec, _ *corev1.Container) {
		s.Template.Labels["more"] = "x"
	},
	"a pod annotation": func(s *appsv1.StatefulSetSpec, _ *corev1.PodSpec, _ *corev1.Container) {
		s.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": "now"}
	},
	"a node selector": func(_ *appsv1.StatefulSetSpec, p *corev1.PodSpec, _ *corev1.Container) {
		p.NodeSelector = map[string]string{"a": "b"}
	},
	"a variable more": func(_ *appsv1.StatefulSetSpec, _ *corev1.PodSpec, c *corev1.Container) {
		c.Env = append(c.Env, corev1.EnvVar{Name: "MORE"})
	},
	"the value of a variable without one": func(_ *appsv1.StatefulSetSpec, _ *corev1.PodSpec, c *corev1.Container) {
		c.Env[len(c.Env)-1].Value = "x"
	},
	"a toleration more": func(_ *appsv1.StatefulSetSpec, p *corev1.PodSpec, _ *corev1.Container) {
		p.Tolerations = append(p.Tolerations, corev1.Toleration{Operator: corev1.TolerationOpExists})
	},
	"more of a toleration": func(_ *appsv1.StatefulSetSpec, p *corev1.PodSpec, _ *corev1.Container) {
		p.Tolerations[0].Effect = corev1.TaintEffectNoSchedule
	},
	"an init container": func(_ *appsv1.StatefulSetSpec, p *corev1.PodSpec, _ *corev1.Container) {
		p.InitContainers = []corev1.Container{{Name: "init", Image: "i"}}
	},
	"an affinity": func(_ *appsv1.StatefulSetSpec, p *corev1.PodSpec, _ *corev1.Container) {
		p.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{}}
	},
	"a lifecycle hook": func(_ *appsv1.StatefulSetSpec, _ *corev1.PodSpec, c *corev1.Container) {
		c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 1}}}
	},
	"the working directory": func(_ *appsv1.StatefulSetSpec, _ *corev1.PodSpec, c *corev1.Container) { c.WorkingDir = "/w" },
	"the termination message": func(_ *appsv1.StatefulSetSpec, _ *corev1.PodSpec, c *corev1.Container) {
		c.TerminationMessagePath = "/t"
	},
	"a delay that was not set": func(_ *appsv1.StatefulSetSpec, _ *corev1.PodSpec, c *corev1.Container) {
		c.StartupProbe.InitialDelaySeconds = 7
	},
	"a privilege": func(_ *appsv1.StatefulSetSpec, _ *corev1.PodSpec, c *corev1.Container) {
		c.SecurityContext.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
	},
	"the host's processes": func(_ *appsv1.StatefulSetSpec, p *corev1.PodSpec, _ *corev1.Container) { p.HostPID = true },
	"the token": func(_ *appsv1.StatefulSetSpec, p *corev1.PodSpec, _ *corev1.Container) {
		p.AutomountServiceAccountToken = new(false)
	},
	"the priority":        func(_ *appsv1.StatefulSetSpec, p *corev1.PodSpec, _ *corev1.Container) { p.PriorityClassName = "high" },
	"the restart of pods": func(s *appsv1.StatefulSetSpec, _ *corev1.PodSpec, _ *corev1.Container) { s.MinReadySeconds = 5 },
	"the mode of a volume": func(_ *appsv1.StatefulSetSpec, p *corev1.PodSpec, _ *corev1.Container) {
		for i := range p.Volumes {
			if v := p.Volumes[i].ConfigMap; v != nil {
				v.DefaultMode = new(int32(256))
			}
		}
	},
}

// Each edit is an Update by another manager, on a separate StatefulSet.
func TestDefect2ManualEditsAreDrift(t *testing.T) {
	b := newRenderEnv(t)
	e := engineOf("e", 0)
	e.Spec.Template = &corev1.PodTemplateSpec{}
	templateYAML := `
spec:
  tolerations: [{key: a, operator: Exists}]
  imagePullSecrets: [{name: pull}]
  volumes: [{name: extra, configMap: {name: c}}]
  containers: [{name: engine, resources: {requests: {cpu: 1000m, memory: 1024Mi}}, env: [{name: EMPTY}]}]
`
	if err := convert(parse(t, templateYAML).Object, e.Spec.Template); err != nil {
		t.Fatal(err)
	}
	for name, edit := range manualEdits {
		b.numbers++
		g := b.render(t, &v1alpha1.FireboltEngineClass{}, e)
		edited := b.stored(t, g)
		expectMatch(t, engine.Same, g, edited, "before an edit of "+name)
		edit(&edited.Spec, &edited.Spec.Template.Spec, &edited.Spec.Template.Spec.Containers[0])
		expectMatch(t, engine.Differs, g, b.update(edited), "after an edit of "+name)
	}
}

// Each rendered value, one at a time, is changed in the stored object.
func TestDefect2ChangedRenderedValuesAreDrift(t *testing.T) {
	b := newRenderEnv(t)
	e := engineOf("e", 0)
	e.Spec.UISidecar = new(true)
	e.Spec.Storage.HostPath = &v1alpha1.EngineHostPathStorage{Path: "/data"}
	g := b.render(t, &v1alpha1.FireboltEngineClass{}, e)
	live := fieldByField(b.stored(t, g))
	leafFields := leafFieldsOf(t, g.StatefulSet)
	if len(leafFields) < 80 {
		t.Fatalf("only %d values are rendered", len(leafFields))
	}
	for _, l := range leafFields {
		expectMatch(t, engine.Differs, g, l.changed(t, live), "after a change of "+l.String())
	}
	for _, l := range listsOf(leafFields) {
		expectMatch(t, engine.Differs, g, l.longer(t, live), "with one entry more in "+l.String())
	}
}

// An update without a change and a reverted edit are not drift.
func TestRevertedEditIsNotDrift(t *testing.T) {
	b := newRenderEnv(t)
	g := b.render(t, &v1alpha1.FireboltEngineClass{}, engineOf("e", 0))
	original := b.stored(t, g)
	edited := original.DeepCopy()
	edited.Spec.Template.Spec.Containers[0].Image = "example.com/engine:9"
	expectMatch(t, engine.Differs, g, b.update(edited), "after an edit")
	expectMatch(t, engine.Same, g, b.update(original), "after it was taken back")
}

// update writes the spec like a user with an editor, and returns the stored object.
func (b *renderEnv) update(set *appsv1.StatefulSet) *appsv1.StatefulSet {
	b.t.Helper()
	live := &appsv1.StatefulSet{}
	if err := b.api.Get(b.t.Context(), client.ObjectKeyFromObject(set), live); err != nil {
		b.t.Fatal(err)
	}
	live.Spec, live.ResourceVersion = set.Spec, "" // its controller also writes the status
	if err := b.api.Update(b.t.Context(), live, client.FieldOwner("kubectl-edit")); err != nil {
		b.t.Fatal(err)
	}
	if live.Generation < 2 {
		b.t.Fatalf("the update changed nothing: revision %d", live.Generation)
	}
	return live
}
