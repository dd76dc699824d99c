package apply_test

import (
	"fmt"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/testr"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/internal/apitest"
)

// After any object is applied, a second apply of it sends no request although the API server
// has set defaults, and the request of a process with an empty cache changes nothing.
func TestApplyIsIdempotent(t *testing.T) {
	c := apitest.New(t)
	ns := apitest.Namespace(t)
	owner := apitest.Owner(t, c, ns, "owner")
	ctx := logr.NewContext(t.Context(), testr.NewWithOptions(t, testr.Options{Verbosity: 1}))
	serial := 0
	rapid.Check(t, func(rt *rapid.T) {
		serial++
		desired := drawObject(rt)
		desired.SetNamespace(ns)
		desired.SetName(fmt.Sprintf("child-%d", serial))
		copyOf := func() client.Object { return desired.DeepCopyObject().(client.Object) }

		if got, err := apply.New(c, manager).Object(ctx, owner, copyOf(), nil); err != nil || got != apply.Created {
			rt.Fatalf("create: %s, %v", got, err)
		}
		live := newOfType(desired)
		if err := c.Get(ctx, client.ObjectKeyFromObject(desired), live); err != nil {
			rt.Fatal(err)
		}
		defer func() {
			if err := c.Delete(ctx, live); err != nil { // Services use up addresses
				rt.Error(err)
			}
		}()
		if rapid.Bool().Draw(rt, "digested") {
			live = digestData(t, live)
		}
		uncached := apply.New(c, manager) // its cache is empty: only the object shows what was applied
		var outcome apply.Outcome
		var err error
		requests := c.Requests(func() { outcome, err = uncached.Object(ctx, owner, copyOf(), live) })
		if err != nil || outcome != apply.Unchanged || requests != 0 {
			rt.Fatalf("apply again: %s, %v, %d requests", outcome, err, requests)
		}
	})
}

func newOfType(obj client.Object) client.Object {
	switch obj.(type) {
	case *appsv1.Deployment:
		return &appsv1.Deployment{}
	case *appsv1.StatefulSet:
		return &appsv1.StatefulSet{}
	case *batchv1.Job:
		return &batchv1.Job{}
	case *corev1.Service:
		return &corev1.Service{}
	case *networkingv1.NetworkPolicy:
		return &networkingv1.NetworkPolicy{}
	case *policyv1.PodDisruptionBudget:
		return &policyv1.PodDisruptionBudget{}
	}
	return &corev1.ConfigMap{}
}

func drawObject(t *rapid.T) client.Object {
	labels := map[string]string{"app": "x"}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	meta := metav1.ObjectMeta{Labels: labels, Annotations: drawMap(t, "annotations")}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: drawMap(t, "pod annotations")}, Spec: drawPod(t)}
	switch rapid.SampledFrom([]string{"Deployment", "StatefulSet", "Job", "Service", "ConfigMap", "NetworkPolicy", "PDB"}).Draw(t, "kind") {
	case "Deployment":
		return &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
			Replicas: optional(t, "replicas", int32(0), 2), Selector: selector, Template: template,
			Paused:   true, // excludes the controllers from a test of the API server
			Strategy: appsv1.DeploymentStrategy{Type: rapid.SampledFrom([]appsv1.DeploymentStrategyType{"", "Recreate", "RollingUpdate"}).Draw(t, "strategy")},
		}}
	case "StatefulSet":
		return &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(0)), Selector: selector, Template: template, ServiceName: "x",
			PodManagementPolicy:  rapid.SampledFrom([]appsv1.PodManagementPolicyType{"", "Parallel"}).Draw(t, "policy"),
			VolumeClaimTemplates: drawClaims(t),
		}}
	case "Job":
		job := &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{
			Suspend: new(true), BackoffLimit: optional(t, "backoff", int32(0), 3),
			ActiveDeadlineSeconds: optional(t, "deadline", int64(60)), Template: template,
		}}
		job.Spec.Template.Spec.RestartPolicy = rapid.SampledFrom([]corev1.RestartPolicy{"Never", "OnFailure"}).Draw(t, "restart")
		for i := range job.Spec.Template.Spec.Containers { // jobs have no use for them
			job.Spec.Template.Spec.Containers[i].LivenessProbe = nil
		}
		return job
	case "Service":
		return &corev1.Service{ObjectMeta: meta, Spec: drawService(t)}
	case "NetworkPolicy":
		return &networkingv1.NetworkPolicy{ObjectMeta: meta, Spec: networkingv1.NetworkPolicySpec{
			PodSelector: *selector,
			Ingress: []networkingv1.NetworkPolicyIngressRule{{
				Ports: []networkingv1.NetworkPolicyPort{{Port: new(drawPort(t, "policy port"))}},
				From:  []networkingv1.NetworkPolicyPeer{{PodSelector: selector}},
			}, {}},
		}}
	case "PDB":
		return &policyv1.PodDisruptionBudget{ObjectMeta: meta, Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: selector, MaxUnavailable: new(rapid.SampledFrom([]intstr.IntOrString{intstr.FromInt32(1), intstr.FromString("25%")}).Draw(t, "max")),
		}}
	}
	return &corev1.ConfigMap{ObjectMeta: meta, Data: drawMap(t, "data"), BinaryData: map[string][]byte{"bin": {0, 1, 2}}}
}

func drawService(t *rapid.T) corev1.ServiceSpec {
	spec := corev1.ServiceSpec{
		Selector: map[string]string{"app": "x"},
		Type:     rapid.SampledFrom([]corev1.ServiceType{"", "ClusterIP", "NodePort"}).Draw(t, "type"),
		Ports: []corev1.ServicePort{
			{Name: "a", Port: 80, TargetPort: drawPort(t, "target")},
			{Name: "b", Port: 80, Protocol: corev1.ProtocolUDP},
		},
		PublishNotReadyAddresses: rapid.Bool().Draw(t, "notready"),
	}
	if spec.Type == "" && rapid.Bool().Draw(t, "headless") {
		spec.ClusterIP = corev1.ClusterIPNone
	}
	return spec
}

func drawPod(t *rapid.T) corev1.PodSpec {
	spec := corev1.PodSpec{
		NodeSelector:                  drawMap(t, "node selector"),
		TerminationGracePeriodSeconds: optional(t, "grace", int64(0), 45),
		SecurityContext:               &corev1.PodSecurityContext{RunAsNonRoot: optional(t, "nonroot", true, false)},
		ServiceAccountName:            rapid.SampledFrom([]string{"", "robot"}).Draw(t, "account"),
		AutomountServiceAccountToken:  optional(t, "automount", false),
		ImagePullSecrets:              []corev1.LocalObjectReference{{Name: "pull"}},
		Tolerations:                   []corev1.Toleration{{Key: "k", Operator: "Exists"}, {Key: "l", Value: "v", Effect: "NoSchedule"}},
		HostAliases:                   []corev1.HostAlias{{IP: "10.0.0.1", Hostnames: []string{"a", "b"}}},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: "ScheduleAnyway",
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}},
		}},
		Volumes: []corev1.Volume{
			{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: "c"}, DefaultMode: optional(t, "mode", int32(0o400)),
				Items: []corev1.KeyToPath{{Key: "k", Path: "p"}},
			}}},
		},
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "containers") {
		spec.Containers = append(spec.Containers, drawContainer(t, fmt.Sprintf("c%d", i)))
	}
	return spec
}

func drawContainer(t *rapid.T, name string) corev1.Container {
	quantity := func(label string) resource.Quantity {
		return resource.MustParse(rapid.SampledFrom([]string{"1", "1000m", "0.5", "250m", "1Gi", "1024Mi", "0.1Gi", "2e3"}).Draw(t, label))
	}
	c := corev1.Container{
		Name: name, Image: "busybox:1", Args: []string{"sh", "-c", "true"},
		Env: []corev1.EnvVar{
			{Name: "PLAIN", Value: rapid.SampledFrom([]string{"", "v", "1000m"}).Draw(t, "env")},
			{Name: "FIELD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
			{Name: "SECRET", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Key: "k"}}},
		},
		EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}}},
		Ports:   []corev1.ContainerPort{{ContainerPort: 80}, {ContainerPort: 80, Protocol: corev1.ProtocolUDP}, {Name: name, ContainerPort: 81}},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "scratch", MountPath: "/tmp"}, {Name: "config", MountPath: "/etc/x", SubPath: "p", ReadOnly: true},
		},
		Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"example.com/thing": resource.MustParse("2")}},
	}
	if rapid.Bool().Draw(t, "resources") {
		q := quantity("memory")
		c.Resources.Limits[corev1.ResourceMemory] = q
		c.Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: q}
	}
	if rapid.Bool().Draw(t, "probe") {
		c.LivenessProbe = &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: drawPort(t, "probe port")}},
			PeriodSeconds: 5,
		}
	}
	return c
}

func drawClaims(t *rapid.T) []corev1.PersistentVolumeClaim {
	if !rapid.Bool().Draw(t, "claims") {
		return nil
	}
	return []corev1.PersistentVolumeClaim{{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1024Mi")}},
		},
	}}
}

func drawPort(t *rapid.T, label string) intstr.IntOrString {
	return rapid.SampledFrom([]intstr.IntOrString{intstr.FromInt32(80), intstr.FromString("c0")}).Draw(t, label)
}

func drawMap(t *rapid.T, label string) map[string]string {
	return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b.example.com", "d"}), rapid.SampledFrom([]string{"", "1", "x"}), 0, 3).Draw(t, label)
}

func optional[T any](t *rapid.T, label string, values ...T) *T {
	i := rapid.IntRange(-1, len(values)-1).Draw(t, label)
	if i < 0 {
		return nil
	}
	return &values[i]
}
