package render

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// The fingerprint covers all inputs, also those outside of the StatefulSet.
func TestDefect2FingerprintCoversAllInputs(t *testing.T) {
	own := func(in *Input) *corev1.Container { return &in.Engine.Template.Spec.Containers[0] }
	cases := map[string]func(*Input){
		"a volume of the engine": func(in *Input) { in.Engine.Template.Spec.Volumes[0].EmptyDir.Medium = "Memory" },
		"a pull secret": func(in *Input) {
			in.Engine.Template.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "x"}}
		},
		"the id of the instance":         func(in *Input) { in.Instance.ID = "other" },
		"the metadata endpoint":          func(in *Input) { in.Instance.Endpoint, in.Engine.EndpointOverride = "other:7000", "" },
		"the configuration":              func(in *Input) { in.Engine.Config = map[string]any{"a": 1} },
		"a flag in a sidecar":            func(in *Input) { in.Engine.Template.Spec.Containers[1].TTY = true },
		"the image of the web interface": func(in *Input) { in.Images.Web = "example.com/web:2" },
		"the replicas":                   func(in *Input) { in.Engine.Replicas++ },
		"the size of the data":           func(in *Input) { in.Engine.Storage.PersistentVolumeClaim.Size = resource.MustParse("21Gi") },
		"an empty variable":              func(in *Input) { own(in).Env = append(own(in).Env, corev1.EnvVar{Name: "X"}) },
		"an empty security context":      func(in *Input) { own(in).SecurityContext = &corev1.SecurityContext{} },
		"another hash of the class":      func(in *Input) { in.Engine.ClassHash = "x" },
		"the name of the engine":         func(in *Input) { in.Engine.Name = "other" },
		"the pull policy":                func(in *Input) { own(in).ImagePullPolicy = corev1.PullNever },
	}
	before, err := Of(input(t, "testdata/layered"))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			in := input(t, "testdata/layered")
			change(&in)
			after, err := Of(in)
			if err != nil {
				t.Fatal(err)
			}
			if after.Fingerprint == before.Fingerprint {
				t.Error("the fingerprint is the same")
			}
			if got, err := Compare(after, before.StatefulSet, true); got != engine.Differs || err != nil {
				t.Errorf("Compare = %v, %v", got, err)
			}
		})
	}
}

func TestFingerprintIgnoresQuantityNotation(t *testing.T) {
	in := input(t, "testdata/layered")
	want, err := Fingerprint(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, written := range []string{"1000m", "1", "1.0", "1000000u"} {
		in.Engine.Template.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(written)
		if got, err := Fingerprint(in); got != want || err != nil {
			t.Errorf("with cpu %s: %s, %v; want %s", written, got, err, want)
		}
	}
}

// Changes that the API server makes on the write of a rendering, such as dropping an
// unknown field, are not drift until a user edits the object.
func TestCompareTrustsOwnWrites(t *testing.T) {
	operatorEntry := metav1.ManagedFieldsEntry{
		Manager: names.FieldManager, Operation: metav1.ManagedFieldsOperationApply,
		FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`),
	}
	by := func(manager, subresource, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: subresource,
			FieldsV1: metav1.NewFieldsV1(fields),
		}
	}
	cases := map[string]struct {
		revision int64
		authors  []metav1.ManagedFieldsEntry
		want     engine.Match
	}{
		"written by us alone":        {1, []metav1.ManagedFieldsEntry{operatorEntry}, engine.Same},
		"its status by another":      {1, []metav1.ManagedFieldsEntry{operatorEntry, by("kube-controller-manager", "status", `{"f:status":{}}`)}, engine.Same},
		"its annotations by another": {1, []metav1.ManagedFieldsEntry{operatorEntry, by("kubectl", "", `{"f:metadata":{}}`)}, engine.Same},
		"its spec by another":        {1, []metav1.ManagedFieldsEntry{operatorEntry, by("kubectl", "", `{"f:spec":{"f:replicas":{}}}`)}, engine.Differs},
		"edited since":               {2, []metav1.ManagedFieldsEntry{operatorEntry}, engine.Differs},
		"made again by another":      {1, []metav1.ManagedFieldsEntry{by("backup", "", `{"f:spec":{}}`)}, engine.Differs},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			desired, err := Of(input(t, "testdata/layered"))
			if err != nil {
				t.Fatal(err)
			}
			live := desired.StatefulSet.DeepCopy()
			live.Generation, live.ManagedFields = tc.revision, tc.authors
			live.Spec.Template.Spec.Containers[0].StartupProbe = nil // dropped
			if got, err := Compare(desired, live, true); got != tc.want || err != nil {
				t.Errorf("Compare = %v, %v; want %v", got, err, tc.want)
			}
		})
	}
}

// legacy returns the StatefulSet of an earlier operator for the same spec.
func legacy(g Generation) *appsv1.StatefulSet {
	s := g.StatefulSet.DeepCopy()
	delete(s.Annotations, names.AnnotationRenderingHash)
	s.Annotations[names.AnnotationConfigHash], s.Annotations[names.AnnotationClassHash] = "spelt", "otherwise"
	s.Generation = 7
	p := &s.Spec.Template.Spec
	p.RestartPolicy, p.DNSPolicy, p.SchedulerName, p.DeprecatedServiceAccount = "Always", "ClusterFirst", "default-scheduler", p.ServiceAccountName
	c := &p.Containers[0]
	c.Command, c.Args, c.ReadinessProbe, c.Ports = []string{"/old"}, nil, nil, nil
	c.TerminationMessagePath, c.TerminationMessagePolicy = "/dev/termination-log", "File"
	for i, j := 0, len(c.Env)-1; i < j; i, j = i+1, j-1 {
		c.Env[i], c.Env[j] = c.Env[j], c.Env[i]
	}
	p.Containers[1].Image = "example.com/web:old"
	p.Containers[2].TerminationMessagePath, p.Containers[2].ImagePullPolicy = "/dev/termination-log", "IfNotPresent"
	return s
}

func TestCompareChecksUserFieldsOfEarlierOperator(t *testing.T) {
	own := func(s *appsv1.StatefulSet) *corev1.Container { return &s.Spec.Template.Spec.Containers[0] }
	cases := map[string]struct {
		change  func(*appsv1.StatefulSet)
		rolling bool
		want    engine.Match
	}{
		"nothing": {func(*appsv1.StatefulSet) {}, false, engine.Same},
		"the web interface last": {func(s *appsv1.StatefulSet) {
			c := s.Spec.Template.Spec.Containers
			c[1], c[2] = c[2], c[1]
		}, false, engine.Same},
		"hashes count during a change":             {func(*appsv1.StatefulSet) {}, true, engine.Differs},
		"volumes other than the data do not count": {func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Volumes = nil }, false, engine.Same},
		"no configuration":                         {func(s *appsv1.StatefulSet) { delete(s.Annotations, names.AnnotationConfigHash) }, false, engine.Differs},
		"no class":                                 {func(s *appsv1.StatefulSet) { delete(s.Annotations, names.AnnotationClassHash) }, false, engine.Differs},
		"another endpoint":                         {func(s *appsv1.StatefulSet) { s.Annotations[names.AnnotationOverride] = "x:1" }, false, engine.Differs},
		"authentication":                           {func(s *appsv1.StatefulSet) { s.Annotations["firebolt.io/auth-hash"] = "x" }, false, engine.Differs},
		"the replicas":                             {func(s *appsv1.StatefulSet) { s.Spec.Replicas = new(int32) }, false, engine.Differs},
		"the image of the user's template":         {func(s *appsv1.StatefulSet) { own(s).Image = "example.com/engine:old" }, false, engine.Differs},
		"a quantity":                               {func(s *appsv1.StatefulSet) { own(s).Resources.Requests["cpu"] = resource.MustParse("2") }, false, engine.Differs},
		"the same quantity in another format":      {func(s *appsv1.StatefulSet) { own(s).Resources.Requests["cpu"] = resource.MustParse("1000m") }, false, engine.Same},
		"one variable less":                        {func(s *appsv1.StatefulSet) { own(s).Env = own(s).Env[1:] }, false, engine.Differs},
		"one variable more":                        {func(s *appsv1.StatefulSet) { own(s).Env = append(own(s).Env, corev1.EnvVar{Name: "X"}) }, false, engine.Differs},
		"a hook":                                   {func(s *appsv1.StatefulSet) { own(s).Lifecycle = &corev1.Lifecycle{} }, false, engine.Differs},
		"a priority":                               {func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.PriorityClassName = "high" }, false, engine.Differs},
		"an affinity":                              {func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Affinity = &corev1.Affinity{} }, false, engine.Differs},
		"a toleration":                             {func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Tolerations = nil }, false, engine.Differs},
		"a node selector":                          {func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.NodeSelector["more"] = "x" }, false, engine.Differs},
		"a label":                                  {func(s *appsv1.StatefulSet) { delete(s.Spec.Template.Labels, "tier") }, false, engine.Differs},
		"an annotation":                            {func(s *appsv1.StatefulSet) { s.Spec.Template.Annotations = nil }, false, engine.Differs},
		"the grace period":                         {func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64) }, false, engine.Differs},
		"one sidecar less":                         {func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers = s.Spec.Template.Spec.Containers[:2] }, false, engine.Differs},
		"a probe of a sidecar":                     {func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[2].LivenessProbe = &corev1.Probe{} }, false, engine.Differs},
		"another storage":                          {func(s *appsv1.StatefulSet) { s.Spec.VolumeClaimTemplates = nil }, false, engine.Differs},
		"the size of the data": {func(s *appsv1.StatefulSet) {
			s.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests["storage"] = resource.MustParse("1Gi")
		}, false, engine.Differs},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			desired, err := Of(input(t, "testdata/layered"))
			if err != nil {
				t.Fatal(err)
			}
			live := legacy(desired)
			tc.change(live)
			if got, err := Compare(desired, live, !tc.rolling); got != tc.want || err != nil {
				t.Errorf("Compare = %v, %v; want %v", got, err, tc.want)
			}
		})
	}
}

// An image that the user does not set differs between this and an earlier operator.
func TestAdoptionKeepsDefaultsOfEarlierOperator(t *testing.T) {
	desired, err := Of(input(t, "testdata/minimal"))
	if err != nil {
		t.Fatal(err)
	}
	live := desired.StatefulSet.DeepCopy()
	delete(live.Annotations, names.AnnotationRenderingHash)
	live.Spec.Template.Spec.Containers[0].Image = "example.com/engine:old"
	live.Spec.Template.Spec.Containers[0].ImagePullPolicy = corev1.PullAlways
	if got, err := Compare(desired, live, true); got != engine.Same || err != nil {
		t.Errorf("Compare = %v, %v", got, err)
	}
}

func TestChangesAfterAdoptionAreDrift(t *testing.T) {
	in := input(t, "testdata/layered")
	desired, err := Of(in)
	if err != nil {
		t.Fatal(err)
	}
	live := legacy(desired)
	annotation := Adoption(desired, live)
	if annotation == "" || Adoption(desired, desired.StatefulSet) != "" {
		t.Fatalf("adoption of a legacy StatefulSet %q, of one of ours %q", annotation, Adoption(desired, desired.StatefulSet))
	}
	live.Annotations[names.AnnotationAdopted] = annotation
	if second := Adoption(desired, live); second != "" {
		t.Errorf("adopted twice: %q", second)
	}
	if got, err := Compare(desired, live, false); got != engine.Same || err != nil {
		t.Errorf("after adoption: %v, %v", got, err)
	}
	in.Engine.Storage = v1alpha1.EngineStorageSpec{}
	other, err := Of(in)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Compare(other, live, true); got != engine.Differs || err != nil {
		t.Errorf("after a change of the spec: %v, %v", got, err)
	}
	live.Generation++
	if got, err := Compare(desired, live, true); got != engine.Differs || err != nil {
		t.Errorf("after an edit by hand: %v, %v", got, err)
	}
}
