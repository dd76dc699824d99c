package validation_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/validation"
)

// The fields that users may set, listed independently: by the names of the Go fields, and not
// read from the table under test (reference 2.6).
var (
	allowedMetadata = []string{"Labels", "Annotations"}
	allowedPod      = []string{
		"Volumes", "InitContainers", "Containers", "DNSPolicy", "NodeSelector", "ServiceAccountName", "SecurityContext",
		"ImagePullSecrets", "Affinity", "SchedulerName", "Tolerations", "HostAliases", "PriorityClassName", "DNSConfig",
		"ReadinessGates", "RuntimeClassName", "PreemptionPolicy", "Overhead", "TopologySpreadConstraints", "OS", "ResourceClaims",
	}
	allowedService = []string{"Name", "Image", "ImagePullPolicy", "Resources"}
	allowedEngine  = append(slices.Clone(allowedService), "Env", "EnvFrom", "VolumeMounts", "SecurityContext", "Lifecycle",
		"WorkingDir", "TerminationMessagePath", "TerminationMessagePolicy", "VolumeDevices", "ResizePolicy")
)

// kind is a component with the properties of its templates.
type kind struct {
	at        string
	primary   string
	allowed   []string
	reserved  []string // names of containers
	volumes   []string // the operator's, secret among them
	secret    []string
	env       []string // of the main container
	mounts    []string
	protected []string // names of Secrets
	check     func(*corev1.PodTemplateSpec) field.ErrorList
}

func kinds() map[string]kind {
	i := instanceWith(nil, nil)
	i.Spec.Metadata.Postgres = &v1alpha1.PostgresSpec{CredentialsSecretRef: corev1.LocalObjectReference{Name: "db"}}
	known := []string{"db", "shop-metadata-postgres-creds", "x-auth-signing", "shop-engine-tls", "y-g12-engine-tls"}
	engine := kind{
		"spec.template", "engine", allowedEngine,
		[]string{"engine-web"},
		[]string{"data", "engine-config", "runtime", "auth-admin", "tls-engine", "auth-signing-k"},
		[]string{"auth-admin", "tls-engine", "auth-signing-k"},
		[]string{"POD_INDEX", "FB_AWS_EC2_METADATA_CLIENT_ENABLED"},
		[]string{"/var/lib/firebolt", "/var/lib/firebolt/config.yaml", "/run/firebolt"},
		known,
		func(t *corev1.PodTemplateSpec) field.ErrorList { // errors and warnings
			return append(validation.EngineTemplate(engineWith(t), i), validation.EngineIgnored(engineWith(t), nil)...)
		},
	}
	class := engine
	class.protected = []string{"x-auth-signing", "y-g12-engine-tls"}
	class.check = func(t *corev1.PodTemplateSpec) field.ErrorList {
		c := &v1alpha1.FireboltEngineClass{Spec: v1alpha1.FireboltEngineClassSpec{Template: *t}}
		return append(validation.Class(c), validation.ClassIgnored(c)...)
	}
	return map[string]kind{
		"engine": engine, "class": class,
		"gateway": {
			"spec.gateway.template", "envoy", allowedService,
			[]string{"wake-agent"},
			[]string{"config", "tmp", "engine-ca", "tls-gateway", "client-ca", "engine-crl", "client-crl", "wake-agent-token"},
			[]string{"engine-ca", "tls-gateway", "client-ca", "engine-crl", "client-crl", "wake-agent-token"},
			nil, nil, known,
			func(t *corev1.PodTemplateSpec) field.ErrorList {
				own := i.DeepCopy()
				own.Spec.Gateway.Template = t
				return append(validation.InstanceGateway(own), validation.InstanceIgnored(own)...)
			},
		},
		"metadata": {
			"spec.metadata.template", "metadata", allowedService, nil,
			[]string{"config", "postgres-creds"},
			[]string{"postgres-creds"},
			nil, nil, known,
			func(t *corev1.PodTemplateSpec) field.ErrorList {
				own := i.DeepCopy()
				own.Spec.Metadata.Template = t
				return append(validation.InstanceMetadata(own), validation.InstanceIgnored(own)...)
			},
		},
	}
}

// violation adds one error to a template and returns its path.
type violation func(*corev1.PodTemplateSpec) string

// violations returns all possible errors in a template whose containers are the
// main one, "side", and the init container "init".
func (k kind) violations() []violation {
	var out []violation
	add := func(path string, do func(*corev1.PodTemplateSpec)) {
		out = append(out, func(t *corev1.PodTemplateSpec) string { do(t); return k.at + "." + path })
	}
	forbidden := func(path string, allowed []string, in func(*corev1.PodTemplateSpec) reflect.Value) {
		of := in(sample(k.primary)).Type()
		for i := range of.NumField() {
			f := of.Field(i)
			if !slices.Contains(allowed, f.Name) {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				add(path+"."+name, func(t *corev1.PodTemplateSpec) { fill(in(t).Field(i), f.Name) })
			}
		}
	}
	forbidden("metadata", allowedMetadata, func(t *corev1.PodTemplateSpec) reflect.Value { return reflect.ValueOf(&t.ObjectMeta).Elem() })
	forbidden("spec", allowedPod, func(t *corev1.PodTemplateSpec) reflect.Value { return reflect.ValueOf(&t.Spec).Elem() })
	main := "spec.containers[" + k.primary + "]"
	forbidden(main, k.allowed, func(t *corev1.PodTemplateSpec) reflect.Value { return reflect.ValueOf(&t.Spec.Containers[0]).Elem() })

	for _, prefix := range []string{"firebolt.io/engine", "firebolt.io/x"} {
		add("metadata.labels["+prefix+"]", func(t *corev1.PodTemplateSpec) { t.Labels = with(t.Labels, prefix) })
		add("metadata.annotations["+prefix+"]", func(t *corev1.PodTemplateSpec) { t.Annotations = with(t.Annotations, prefix) })
	}
	for _, name := range k.reserved {
		add("spec.containers["+name+"]", func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers = append(t.Spec.Containers, corev1.Container{Name: name})
		})
	}
	add("spec.initContainers["+k.primary+"]", func(t *corev1.PodTemplateSpec) { addInit(t, k.primary) })
	add("spec.initContainers[side]", func(t *corev1.PodTemplateSpec) { addInit(t, "side") })
	add("spec.containers["+k.primary+"]", func(t *corev1.PodTemplateSpec) {
		t.Spec.Containers = append(t.Spec.Containers, corev1.Container{Name: k.primary})
	})
	for _, name := range k.volumes {
		add("spec.volumes["+name+"]", func(t *corev1.PodTemplateSpec) { t.Spec.Volumes = append(t.Spec.Volumes, corev1.Volume{Name: name}) })
	}
	for _, name := range k.secret {
		add("spec.containers[side].volumeMounts["+name+"]", func(t *corev1.PodTemplateSpec) { mount(&t.Spec.Containers[1], name, "/x") })
		add("spec.initContainers[init].volumeMounts["+name+"]", func(t *corev1.PodTemplateSpec) { mount(&t.Spec.InitContainers[0], name, "/x") })
	}
	for _, name := range k.env {
		add(main+".env["+name+"]", func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers[0].Env = append(t.Spec.Containers[0].Env, corev1.EnvVar{Name: name})
		})
	}
	if len(k.mounts) > 0 { // users may set the main container's mounts, except the operator's
		for _, name := range k.volumes {
			add(main+".volumeMounts["+name+"]", func(t *corev1.PodTemplateSpec) { mount(&t.Spec.Containers[0], name, "/x") })
		}
		for i, path := range k.mounts {
			name := "free" + string(rune('a'+i))
			add(main+".volumeMounts["+name+"].mountPath", func(t *corev1.PodTemplateSpec) { mount(&t.Spec.Containers[0], name, path) })
		}
	}
	return append(out, k.leaks()...)
}

// leaks returns the ways to read a protected Secret.
func (k kind) leaks() []violation {
	var out []violation
	for _, secret := range k.protected {
		ref := corev1.LocalObjectReference{Name: secret}
		volume := func(path string, v corev1.VolumeSource) {
			name := "v-" + secret + "-" + strings.ReplaceAll(path, ".", "-")
			out = append(out, func(t *corev1.PodTemplateSpec) string {
				t.Spec.Volumes = append(t.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: v})
				return k.at + ".spec.volumes[" + name + "]." + path
			})
		}
		volume("secret.secretName", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}})
		volume("projected.sources[1].secret.name", corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{}, {Secret: &corev1.SecretProjection{LocalObjectReference: ref}}},
		}})
		volume("csi.nodePublishSecretRef.name", corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{NodePublishSecretRef: &ref}})
		out = append(out, func(t *corev1.PodTemplateSpec) string {
			c := &t.Spec.Containers[1]
			c.Env = append(c.Env, corev1.EnvVar{Name: "E-" + secret, ValueFrom: &corev1.EnvVarSource{
				SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: ref},
			}})
			return k.at + ".spec.containers[side].env[E-" + secret + "].valueFrom.secretKeyRef.name"
		})
	}
	return out
}

func with(m map[string]string, key string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = "x"
	return m
}

func addInit(t *corev1.PodTemplateSpec, name string) {
	t.Spec.InitContainers = append(t.Spec.InitContainers, corev1.Container{Name: name})
}

func mount(c *corev1.Container, name, path string) {
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path})
}

// sample returns a valid template.
func sample(primary string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: primary}, {Name: "side"}}, InitContainers: []corev1.Container{{Name: "init"}},
	}}
}

// decorate sets a random subset of the fields that users may set.
func (k kind) decorate(r *rand.Rand, t *corev1.PodTemplateSpec) {
	setSome := func(v reflect.Value, allowed []string) {
		for _, name := range allowed {
			if r.IntN(2) == 0 && name != "Name" && name != "Containers" && name != "InitContainers" {
				fill(v.FieldByName(name), name)
			}
		}
	}
	setSome(reflect.ValueOf(&t.ObjectMeta).Elem(), allowedMetadata)
	setSome(reflect.ValueOf(&t.Spec).Elem(), allowedPod)
	setSome(reflect.ValueOf(&t.Spec.Containers[0]).Elem(), k.allowed)
	for _, free := range []*corev1.Container{&t.Spec.Containers[1], &t.Spec.InitContainers[0]} {
		if r.IntN(2) == 0 {
			name := free.Name
			fill(reflect.ValueOf(free).Elem(), "free")
			free.Name = name
		}
	}
}

// exactly checks the property for one seed: for a random template with random errors,
// every error is reported, and no other.
func (k kind) exactly(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 17))
	template := sample(k.primary)
	k.decorate(r, template)
	all := k.violations()
	var want []string
	for _, i := range r.Perm(len(all))[:r.IntN(min(len(all), 12)+1)] {
		want = append(want, all[i](template))
	}
	var got []string
	for _, e := range k.check(template) {
		got = append(got, e.Field)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("seed %d (-injected +named):\n%s", seed, diff)
	}
}

func TestTemplateErrorsMatchInjectedErrors(t *testing.T) {
	for name, k := range kinds() {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(150) {
				k.exactly(t, seed)
			}
			for i, one := range k.violations() { // each one alone
				template := sample(k.primary)
				want := one(template)
				if got := k.check(template); len(got) != 1 || got[0].Field != want {
					t.Errorf("violation %d: %v, want %s alone", i, got, want)
				}
			}
		})
	}
}

func FuzzTemplates(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		for _, k := range kinds() {
			k.exactly(t, seed)
		}
	})
}
