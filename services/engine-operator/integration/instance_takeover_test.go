package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// legacyEnv is an instance with its own database that another operator left running, written
// with Update under the name of its program, from different templates.
type legacyEnv struct {
	*testEnv
	instance *v1alpha1.FireboltInstance
}

const earlierManager = client.FieldOwner("manager")

func newLegacyEnv(t *testing.T, editDatabase ...func(*appsv1.StatefulSet)) *legacyEnv {
	t.Helper()
	l := &legacyEnv{testEnv: &testEnv{operator: &operator{t: t, namespace: cluster.Get(t).Namespace(t)}, api: apiServer(t)}}
	l.volume("10Gi")
	l.instance = &v1alpha1.FireboltInstance{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Finalizers: []string{v1alpha1.InstanceFinalizer}},
		Spec: v1alpha1.FireboltInstanceSpec{
			ID: "01ARZ3NDEKTSV4RRFFQ69G5FAV",
			Metadata: v1alpha1.MetadataSpec{Template: &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "metadata", Image: "example.com/old/metadata:7"}},
			}}},
		},
	}
	l.make(l.instance)
	l.makeOwned(&corev1.Secret{
		ObjectMeta: l.meta("shop-metadata-postgres-creds", "postgres"),
		StringData: map[string]string{"username": "firebolt", "password": "old", "database": "firebolt_metadata"},
	})
	l.makeOwned(&corev1.ConfigMap{ObjectMeta: l.meta("shop-metadata-config", "metadata"), Data: map[string]string{
		"config.yaml": "pensieve_lite: {old: true, metadata_storage: {postgresql: {host: shop-metadata-pg, port: 5432}}}",
	}})
	l.makeOwned(&corev1.ConfigMap{ObjectMeta: l.meta("shop-gateway-config", "gateway"), Data: map[string]string{"envoy.yaml": "old"}})
	database := &appsv1.StatefulSet{ObjectMeta: l.meta("shop-metadata-pg", "postgres"), Spec: appsv1.StatefulSetSpec{
		Replicas: new(int32(1)), ServiceName: "shop-metadata-pg",
		Selector: &metav1.LabelSelector{MatchLabels: names.ComponentLabels("shop", "postgres")}, Template: oldPod("postgres", "postgresql", "postgres:15"),
		PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: "Delete", WhenScaled: "Retain"},
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}},
		}}},
	}}
	for _, edit := range editDatabase {
		edit(database)
	}
	l.makeOwned(database)
	for _, d := range []struct {
		name, component, container, image string
		replicas                          int32
	}{{"shop-metadata", "metadata", "metadata", "example.com/old/metadata:7", 1}, {"shop-gateway", "gateway", "envoy", "example.com/old/envoy:1", 2}} {
		l.makeOwned(&corev1.Service{ObjectMeta: l.meta(d.name, d.component), Spec: corev1.ServiceSpec{
			Selector: names.ComponentLabels("shop", d.component), Ports: []corev1.ServicePort{{Name: "old", Port: 7000}},
		}})
		l.makeOwned(&appsv1.Deployment{ObjectMeta: l.meta(d.name, d.component), Spec: appsv1.DeploymentSpec{
			Replicas: new(d.replicas), Selector: &metav1.LabelSelector{MatchLabels: names.ComponentLabels("shop", d.component)},
			Template: oldPod(d.component, d.container, d.image),
		}})
	}
	return l
}

// oldPod returns a pod template that differs from ours in fields that users do not control.
func oldPod(component, container, image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: names.ComponentLabels("shop", component), Annotations: map[string]string{"firebolt.io/config-hash": "0ld"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: container, Image: image, Command: []string{"/old"}, Env: []corev1.EnvVar{{Name: "OLD", Value: "yes"}}},
			{Name: "wake-agent", Image: "example.com/old/agent:1"},
		}},
	}
}

func (l *legacyEnv) meta(name, component string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: names.ComponentLabels("shop", component)}
}

func (l *legacyEnv) make(o client.Object) {
	l.t.Helper()
	o.SetNamespace(l.namespace)
	if err := l.api.Create(l.t.Context(), o, earlierManager); err != nil {
		l.t.Fatal(err)
	}
}

func (l *legacyEnv) makeOwned(o client.Object) {
	l.t.Helper()
	o.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(l.instance, v1alpha1.GroupVersion.WithKind("FireboltInstance"))})
	l.make(o)
}

// serves waits until all components run, and writes the corresponding status.
func (l *legacyEnv) serves() {
	l.t.Helper()
	for name, want := range map[string]int32{"shop-metadata": 1, "shop-gateway": 2} {
		expect.Object(l.t, l.api, l.deployment(name), func(d *appsv1.Deployment) error {
			if d.Status.ReadyReplicas != want {
				return fmt.Errorf("%d pods ready", d.Status.ReadyReplicas)
			}
			return nil
		})
	}
	expect.Object(l.t, l.api, l.database(), func(s *appsv1.StatefulSet) error {
		if s.Status.ReadyReplicas != 1 {
			return fmt.Errorf("%d pods ready", s.Status.ReadyReplicas)
		}
		return nil
	})
	l.instance.Status = v1alpha1.FireboltInstanceStatus{
		Phase: v1alpha1.InstanceReady, MetadataReady: true, GatewayReady: true,
		MetadataEndpoint: "shop-metadata." + l.namespace + ".svc.cluster.local:7000", GatewayEndpoint: "shop-gateway." + l.namespace + ".svc.cluster.local",
		Conditions: []metav1.Condition{{Type: "Ready", Status: "True", Reason: "AllComponentsReady", LastTransitionTime: metav1.Now()}},
	}
	if err := l.api.Status().Update(l.t.Context(), l.instance, earlierManager); err != nil {
		l.t.Fatal(err)
	}
}

// running returns everything that must not change: the UIDs of the pods, their templates,
// and their configuration.
func (l *legacyEnv) running() map[string]any {
	l.t.Helper()
	out := map[string]any{}
	list := func(into client.ObjectList) {
		if err := l.api.List(l.t.Context(), into, client.InNamespace(l.namespace), client.HasLabels{names.LabelInstance}); err != nil {
			l.t.Fatal(err)
		}
	}
	pods, deployments, sets, configs := &corev1.PodList{}, &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &corev1.ConfigMapList{}
	list(pods)
	list(deployments)
	list(sets)
	list(configs)
	for _, p := range pods.Items {
		out["pod "+p.Name] = p.UID
	}
	for _, d := range deployments.Items {
		out["template of "+d.Name] = d.Spec.Template
	}
	for _, s := range sets.Items {
		out["template of "+s.Name] = s.Spec.Template
	}
	for _, c := range configs.Items {
		out["data of "+c.Name] = c.Data
	}
	return out
}

func TestAdoptionRestartsNoInstancePod(t *testing.T) {
	t.Parallel()
	l := newLegacyEnv(t)
	l.serves()
	before := l.running()
	l.operator = start(t, l.namespace)
	i := l.instanceIs(v1alpha1.InstanceReady, v1alpha1.ConditionReady, v1alpha1.ReasonAllComponentsReady)
	if diff := cmp.Diff(before, l.running()); diff != "" {
		t.Fatalf("running workloads changed (-before +after):\n%s", diff)
	}
	l.checkAdopted(i)
	before = l.deleteConfigs(before)

	// Another process of our operator has nothing to do, once Kubernetes has observed the annotations and the
	// conditions are published.
	l.waitObserved()
	expect.Condition(t, l.api, i, "Available", metav1.ConditionTrue)
	expect.Condition(t, l.api, i, "Progressing", metav1.ConditionFalse)
	expect.Condition(t, l.api, i, "Upgradable", metav1.ConditionTrue)
	l.checkRestartWritesNothing(2 * short)

	// An edit of one component changes only that component, which is then applied in full.
	l.editInstance(func(i *v1alpha1.FireboltInstance) {
		i.Spec.Metadata.Template.Spec.Containers[0].Image = "example.com/metadata:8"
	})
	expect.Object(t, l.api, l.deployment("shop-metadata"), func(d *appsv1.Deployment) error {
		c := d.Spec.Template.Spec.Containers
		if len(c) != 1 || c[0].Image != "example.com/metadata:8" || len(c[0].Env) != 2 || d.Annotations[names.AnnotationAdopted] != "" || d.Annotations[names.AnnotationRenderingHash] == "" {
			return fmt.Errorf("annotations %v, containers %+v", d.Annotations, c)
		}
		return nil
	})
	l.instanceIs(v1alpha1.InstanceReady, v1alpha1.ConditionReady, v1alpha1.ReasonAllComponentsReady)
	after := l.running()
	for what, was := range before {
		if !strings.Contains(what, "shop-metadata-pg") && strings.Contains(what, "shop-metadata") {
			continue
		}
		if diff := cmp.Diff(was, after[what]); diff != "" {
			t.Errorf("%s changed (-before +after):\n%s", what, diff)
		}
	}
}

func (l *legacyEnv) deployment(name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name}}
}

func (l *legacyEnv) database() *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "shop-metadata-pg"}}
}

// checkAdopted checks that the operator adopted the instance and annotated its objects.
func (l *legacyEnv) checkAdopted(i *v1alpha1.FireboltInstance) {
	l.t.Helper()
	if i.Spec.ID != l.instance.Spec.ID || i.Status.DeployedVersion != "example.com/old/metadata:7" || len(i.Status.Transitions) != 0 {
		l.t.Errorf("id %s, version %s, transitions %v", i.Spec.ID, i.Status.DeployedVersion, i.Status.Transitions)
	}
	for _, f := range i.ManagedFields {
		if f.Subresource == "status" && f.Manager == string(earlierManager) {
			l.t.Errorf("%s still owns fields of the status", f.Manager)
		}
	}
	metadata, gateway, database := l.deployment("shop-metadata"), l.deployment("shop-gateway"), l.database()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "shop-metadata-postgres-creds"}}
	l.read(metadata, gateway, database, secret)
	for _, o := range []client.Object{metadata, gateway, database} {
		if a := o.GetAnnotations(); len(a[names.AnnotationAdopted]) != 16 || a[names.AnnotationRenderingHash] != "" {
			l.t.Errorf("%s: annotations %v", o.GetName(), a)
		}
	}
	if p := database.Spec.PersistentVolumeClaimRetentionPolicy; p.WhenDeleted != "Retain" {
		l.t.Errorf("the volume would go with its StatefulSet: %+v", p)
	}
	if len(secret.OwnerReferences) != 0 || secret.Annotations[names.AnnotationInstanceID] != i.Spec.ID || string(secret.Data["password"]) != "old" {
		l.t.Errorf("credentials: %+v", secret.ObjectMeta)
	}
}

// waitObserved waits until Kubernetes has observed the latest generation of all workloads.
func (l *legacyEnv) waitObserved() {
	l.t.Helper()
	for _, o := range []client.Object{l.deployment("shop-metadata"), l.deployment("shop-gateway"), l.database()} {
		expect.Object(l.t, l.api, o, func(o client.Object) error {
			var seen int64
			switch w := o.(type) {
			case *appsv1.Deployment:
				seen = w.Status.ObservedGeneration
			case *appsv1.StatefulSet:
				seen = w.Status.ObservedGeneration
			}
			if seen != o.GetGeneration() {
				return fmt.Errorf("generation %d of %d is seen", seen, o.GetGeneration())
			}
			return nil
		})
	}
}

func TestAdoptionAppliesChangesMadeWithoutOperator(t *testing.T) {
	t.Parallel()
	l := newLegacyEnv(t)
	l.serves()
	l.editInstance(func(i *v1alpha1.FireboltInstance) { i.Spec.Gateway.Replicas = new(int32(3)) })
	l.operator = start(t, l.namespace)
	expect.Object(t, l.api, l.deployment("shop-gateway"), func(d *appsv1.Deployment) error {
		if d.Status.ReadyReplicas != 3 || d.Status.UpdatedReplicas != 3 {
			return fmt.Errorf("%+v", d.Status)
		}
		return nil
	})
	var first []transition.Entry
	i := l.instanceIs(v1alpha1.InstanceReady, v1alpha1.ConditionReady, v1alpha1.ReasonAllComponentsReady)
	if diff := cmp.Diff(first, i.Status.Transitions); diff != "" {
		t.Errorf("the instance was never out of Ready (-want +got):\n%s", diff)
	}
	metadata := l.deployment("shop-metadata")
	l.read(metadata)
	if metadata.Spec.Template.Spec.Containers[0].Command[0] != "/old" {
		t.Error("metadata was restarted for a change of the gateway")
	}
}
