package integration

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// newLegacyDatabase returns a legacy instance that serves, and whose database keeps its data at another path, as another user
// and in a smaller volume than ours.
func newLegacyDatabase(t *testing.T) *legacyEnv {
	t.Helper()
	l := newLegacyEnv(t, func(s *appsv1.StatefulSet) {
		s.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("5Gi")
		s.Spec.Template.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: new(int64(999))}
		c := &s.Spec.Template.Spec.Containers[0]
		c.SecurityContext = &corev1.SecurityContext{RunAsUser: new(int64(999))}
		c.Env = []corev1.EnvVar{{Name: "PGDATA", Value: "/old/data"}}
		c.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/old"}}
	})
	l.serves()
	return l
}

// restartWith restarts the operator with another image of databases.
func (l *legacyEnv) restartWith(image string) {
	l.t.Helper()
	l.waitForIdle()
	l.stopAndWait()
	l.settings.Images.Postgres = image
	l.requests.reset()
	l.run()
}

// command sets the instance's command, or removes it.
func (l *legacyEnv) command(value string) {
	l.t.Helper()
	l.editInstance(func(i *v1alpha1.FireboltInstance) {
		i.Annotations = map[string]string{v1alpha1.AnnotationCommand: value}
	})
}

// waitReplicas waits until the database has so many pods, and returns its StatefulSet.
func (l *legacyEnv) waitReplicas(want int32) *appsv1.StatefulSet {
	l.t.Helper()
	set := l.database()
	expect.Object(l.t, l.api, set, func(s *appsv1.StatefulSet) error {
		replicas, st := ptr.Deref(s.Spec.Replicas, 1), s.Status
		if replicas != want || st.ObservedGeneration != s.Generation || st.Replicas != want || st.ReadyReplicas != want {
			return fmt.Errorf("replicas %d, generation %d, status %+v", replicas, s.Generation, st)
		}
		return nil
	})
	return set
}

// checkData checks that the database runs the image of the earlier operator on its data.
func (l *legacyEnv) checkData(when string, s *appsv1.StatefulSet, image string) {
	l.t.Helper()
	c := s.Spec.Template.Spec.Containers[0]
	size := s.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage]
	data := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "PGDATA" })
	got := fmt.Sprintf("%s as %d, %s on %s, %s", c.Image, *c.SecurityContext.RunAsUser, c.Env[data].Value, c.VolumeMounts[0].MountPath, size.String())
	if want := image + " as 999, /old/data on /old, 5Gi"; got != want {
		l.t.Errorf("%s: %s, want %s", when, got, want)
	}
}

// An operator with another image of databases leaves an adopted one as it is.
func TestOtherImageKeepsAdoptedDatabase(t *testing.T) {
	t.Parallel()
	l := newLegacyDatabase(t)
	l.operator = start(t, l.namespace)
	l.instanceIs(v1alpha1.InstanceReady, v1alpha1.ConditionReady, v1alpha1.ReasonAllComponentsReady)
	l.waitForIdle()
	before := l.running()
	l.restartWith("postgres:17-alpine")
	l.editInstance(func(i *v1alpha1.FireboltInstance) { i.Spec.Gateway.Replicas = new(int32(3)) })
	expect.Object(t, l.api, l.deployment("shop-gateway"), func(d *appsv1.Deployment) error {
		if d.Status.ReadyReplicas != 3 {
			return fmt.Errorf("%+v", d.Status)
		}
		return nil
	})
	l.waitForIdle()
	after := l.running()
	for _, what := range []string{"pod shop-metadata-pg-0", "template of shop-metadata-pg"} {
		if diff := cmp.Diff(before[what], after[what]); diff != "" || before[what] == nil {
			t.Errorf("%s changed (-before +after):\n%s", what, diff)
		}
	}
}

// A stopped database that was adopted starts with the image that initialized its data, also by another process of the operator with
// another image of databases. What the data does not depend on is ours.
func TestStopKeepsImageOfAdoptedDatabase(t *testing.T) {
	t.Parallel()
	l := newLegacyDatabase(t)
	l.operator = start(t, l.namespace)
	l.instanceIs(v1alpha1.InstanceReady, v1alpha1.ConditionReady, v1alpha1.ReasonAllComponentsReady)
	l.command(v1alpha1.CommandStopped)
	l.checkData("stopped", l.waitReplicas(0), "postgres:15")
	l.restartWith("postgres:17-alpine")
	l.command("")
	started := l.waitReplicas(1)
	l.checkData("started", started, "postgres:15")
	c := started.Spec.Template.Spec.Containers
	applied := started.Annotations[names.AnnotationRenderingHash] != ""
	if !applied || len(c) != 1 || c[0].StartupProbe == nil || c[0].Resources.Limits.Memory().String() != "256Mi" {
		t.Errorf("annotations %v, containers %+v: the rest is not ours", started.Annotations, c)
	}
	l.instanceIs(v1alpha1.InstanceReady, v1alpha1.ConditionReady, v1alpha1.ReasonAllComponentsReady)
	l.checkRestartWritesNothing(2 * short)

	// A user can still change the image: it is that of the StatefulSet.
	l.editDatabase(func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Image = "postgres:15.9" })
	l.command(v1alpha1.CommandStopped)
	l.checkData("stopped after an edit", l.waitReplicas(0), "postgres:15.9")
}

// A database that was stopped before the adoption is never seen to match the spec.
func TestAdoptionKeepsImageOfStoppedDatabase(t *testing.T) {
	t.Parallel()
	l := newLegacyDatabase(t)
	l.editDatabase(func(s *appsv1.StatefulSet) { s.Spec.Replicas = new(int32(0)) })
	l.waitReplicas(0)
	l.operator = start(t, l.namespace)
	l.checkData("started", l.waitReplicas(1), "postgres:15")
}

// editingClient edits the database like a user right before the operator's first apply of it, which the cache does not show.
type editingClient struct {
	client.Client

	edit *sync.Once
	user func()
}

func (c editingClient) Apply(ctx context.Context, obj runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	if name, ok := obj.(interface{ GetName() string }); ok && name.GetName() == "shop-metadata-pg" {
		c.edit.Do(c.user)
	}
	return c.Client.Apply(ctx, obj, options...)
}

// A user corrects the image while the operator applies the database with the former one.
func TestApplyKeepsConcurrentImage(t *testing.T) {
	t.Parallel()
	l := newLegacyDatabase(t)
	l.operator = start(t, l.namespace)
	l.instanceIs(v1alpha1.InstanceReady, v1alpha1.ConditionReady, v1alpha1.ReasonAllComponentsReady)
	l.waitForIdle()
	l.stopAndWait()
	var edit sync.Once
	l.newClient = func(cfg *rest.Config, options client.Options) (client.Client, error) {
		c, err := client.New(cfg, options)
		return editingClient{c, &edit, func() {
			l.editDatabase(func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Image = "postgres:15.9" })
		}}, err
	}
	l.run()
	l.command(v1alpha1.CommandStopped)
	l.checkData("stopped", l.waitReplicas(0), "postgres:15.9")
}

// A failed component of an adopted instance is scaled down without an apply. It must start again with the same rendering.
func TestAdoptedInstanceStartsAfterFailure(t *testing.T) {
	t.Parallel()
	l := newLegacyDatabase(t)
	l.operator = start(t, l.namespace)
	l.instanceIs(v1alpha1.InstanceReady, v1alpha1.ConditionReady, v1alpha1.ReasonAllComponentsReady)
	l.editInstance(func(i *v1alpha1.FireboltInstance) {
		i.Annotations = map[string]string{v1alpha1.AnnotationCommand: v1alpha1.CommandStopped}
		rejected := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{HostNetwork: true}}
		i.Spec.Metadata.Template, i.Spec.Gateway.Template = rejected, rejected
	})
	l.waitReplicas(0)
	l.editInstance(func(i *v1alpha1.FireboltInstance) {
		i.Annotations, i.Spec.Metadata.Template, i.Spec.Gateway.Template = nil, nil, nil
	})
	l.checkData("started", l.waitReplicas(1), "postgres:15")
	l.instanceIs(v1alpha1.InstanceReady, v1alpha1.ConditionReady, v1alpha1.ReasonAllComponentsReady)
}

// editDatabase edits the StatefulSet like a user.
func (l *legacyEnv) editDatabase(change func(*appsv1.StatefulSet)) {
	l.t.Helper()
	expect.Eventually(l.t, expect.Long, func() error {
		set := l.database()
		l.read(set)
		change(set)
		return l.api.Update(l.t.Context(), set)
	})
}
