package validation

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

func paths(list field.ErrorList) []string {
	var out []string
	for _, e := range list {
		out = append(out, e.Field)
	}
	slices.Sort(out)
	return out
}

// read parses YAML into a value.
func read[T any](t testing.TB, text string) *T {
	t.Helper()
	out := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return out
}

func classWith(t *testing.T, template string) *v1alpha1.FireboltEngineClass {
	t.Helper()
	class := &v1alpha1.FireboltEngineClass{ObjectMeta: metav1.ObjectMeta{Name: "big"}}
	class.Spec.Template = *read[corev1.PodTemplateSpec](t, template)
	return class
}

// shop returns an instance whose Secrets are protected.
func shop() *v1alpha1.FireboltInstance {
	return &v1alpha1.FireboltInstance{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Spec: v1alpha1.FireboltInstanceSpec{
			Metadata: v1alpha1.MetadataSpec{Postgres: &v1alpha1.PostgresSpec{CredentialsSecretRef: corev1.LocalObjectReference{Name: "db"}}},
			Auth:     &v1alpha1.AuthSpec{Local: &v1alpha1.LocalAuthSpec{Admin: v1alpha1.AdminSpec{Password: corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "root"}}}}},
			TLS: &v1alpha1.TLSSpec{Gateway: &v1alpha1.TLSListenerSpec{
				SecretRef: &corev1.LocalObjectReference{Name: "cert"}, ClientCASecretRef: &corev1.LocalObjectReference{Name: "clients"},
			}},
		},
	}
}

// templateRow is a pod template with the paths of its errors.
type templateRow struct {
	template string
	want     []string
}

func TestEngineTemplate(t *testing.T) {
	checkEngineTemplates(t, map[string]templateRow{
		"an empty template":             {`{}`, nil},
		"an empty list is no list":      {`spec: {ephemeralContainers: [], containers: [{name: engine, command: []}]}`, nil},
		"labels and annotations":        {`metadata: {labels: {team: data}, annotations: {note: x}}`, nil},
		"a name for the pods":           {`metadata: {name: a, finalizers: [x]}`, []string{"spec.template.metadata.finalizers", "spec.template.metadata.name"}},
		"a label of the operator":       {`metadata: {labels: {firebolt.io/engine: b}}`, []string{"spec.template.metadata.labels[firebolt.io/engine]"}},
		"an annotation of the operator": {`metadata: {annotations: {firebolt.io/x: b, a: b}}`, []string{"spec.template.metadata.annotations[firebolt.io/x]"}},
		"what belongs to the pod": {
			`spec: {hostNetwork: true, terminationGracePeriodSeconds: 1, subdomain: x, shareProcessNamespace: false}`,
			[]string{"spec.template.spec.hostNetwork", "spec.template.spec.shareProcessNamespace", "spec.template.spec.subdomain", "spec.template.spec.terminationGracePeriodSeconds"},
		},
		"the main container's own": {
			`spec: {containers: [{name: engine, command: [x], args: [y], ports: [{containerPort: 1}], tty: true, livenessProbe: {}}]}`,
			[]string{
				"spec.template.spec.containers[engine].args", "spec.template.spec.containers[engine].command",
				"spec.template.spec.containers[engine].livenessProbe", "spec.template.spec.containers[engine].ports",
				"spec.template.spec.containers[engine].tty",
			},
		},
		"a sidecar may have a command":  {`spec: {containers: [{name: log, command: [x], ports: [{containerPort: 1}], tty: true}], initContainers: [{name: wait, args: [x]}]}`, nil},
		"the main container twice":      {`spec: {containers: [{name: engine}, {name: engine, tty: true}]}`, []string{"spec.template.spec.containers[engine]", "spec.template.spec.containers[engine].tty"}},
		"a sidecar twice":               {`spec: {containers: [{name: a}], initContainers: [{name: a}]}`, []string{"spec.template.spec.initContainers[a]"}},
		"an init container named as it": {`spec: {initContainers: [{name: engine}]}`, []string{"spec.template.spec.initContainers[engine]"}},
		"a reserved name":               {`spec: {containers: [{name: engine-web}], initContainers: [{name: engine-web}]}`, []string{"spec.template.spec.containers[engine-web]", "spec.template.spec.initContainers[engine-web]"}},
		"the operator's variables": {
			`spec: {containers: [{name: engine, env: [{name: POD_INDEX, value: "1"}, {name: MINE, value: x}, {name: FB_AWS_EC2_METADATA_CLIENT_ENABLED, value: "0"}]}]}`,
			[]string{"spec.template.spec.containers[engine].env[FB_AWS_EC2_METADATA_CLIENT_ENABLED]", "spec.template.spec.containers[engine].env[POD_INDEX]"},
		},
		"a sidecar's variables are its own": {`spec: {containers: [{name: log, env: [{name: POD_INDEX, value: "1"}]}]}`, nil},
	})
}

func TestEngineTemplateProtectsMountsAndSecrets(t *testing.T) {
	checkEngineTemplates(t, map[string]templateRow{
		"a container without a name": {`spec: {containers: [{name: "", envFrom: [{secretRef: {name: db}}]}]}`, []string{"spec.template.spec.containers[0].envFrom[0].secretRef.name"}},
		"mounts of the operator's volumes": {
			`spec: {containers: [{name: engine, volumeMounts: [{name: data, mountPath: /a}, {name: auth-signing-2, mountPath: /b}, {name: nginx-writable-dir, mountPath: /c}], volumeDevices: [{name: data, devicePath: /d}]}]}`,
			[]string{
				"spec.template.spec.containers[engine].volumeDevices[data]", "spec.template.spec.containers[engine].volumeMounts[auth-signing-2]",
				"spec.template.spec.containers[engine].volumeMounts[data]", "spec.template.spec.containers[engine].volumeMounts[nginx-writable-dir]",
			},
		},
		"a mount over one of the operator's": {
			`spec: {volumes: [{name: mine, emptyDir: {}}], containers: [{name: engine, volumeMounts: [{name: mine, mountPath: /run/firebolt/}, {name: other, mountPath: /run}]}]}`,
			[]string{"spec.template.spec.containers[engine].volumeMounts[mine].mountPath"},
		},
		"a sidecar may mount the data, not the Secrets": {
			`spec: {containers: [{name: log, volumeMounts: [{name: data, mountPath: /d}, {name: tls-engine, mountPath: /e}]}], initContainers: [{name: i, volumeMounts: [{name: auth-admin, mountPath: /f}]}]}`,
			[]string{"spec.template.spec.containers[log].volumeMounts[tls-engine]", "spec.template.spec.initContainers[i].volumeMounts[auth-admin]"},
		},
		"volumes that alias protected Secrets": {
			`spec: {volumes: [{name: a, secret: {secretName: db}}, {name: b, projected: {sources: [{secret: {name: mine}}, {secret: {name: root}}]}}, {name: c, csi: {driver: d, nodePublishSecretRef: {name: cert}}}, {name: d, secret: {secretName: mine}}]}`,
			[]string{
				"spec.template.spec.volumes[a].secret.secretName", "spec.template.spec.volumes[b].projected.sources[1].secret.name",
				"spec.template.spec.volumes[c].csi.nodePublishSecretRef.name",
			},
		},
		"variables from protected Secrets": {
			`spec: {containers: [{name: engine, env: [{name: A, valueFrom: {secretKeyRef: {name: shop-metadata-postgres-creds, key: k}}}]}, {name: log, envFrom: [{secretRef: {name: mine}}, {secretRef: {name: clients}}]}], initContainers: [{name: i, env: [{name: B, valueFrom: {secretKeyRef: {name: x-g3-engine-tls, key: k}}}]}]}`,
			[]string{
				"spec.template.spec.containers[engine].env[A].valueFrom.secretKeyRef.name", "spec.template.spec.containers[log].envFrom[1].secretRef.name",
				"spec.template.spec.initContainers[i].env[B].valueFrom.secretKeyRef.name",
			},
		},
		"the instance's own anchors": {
			`spec: {volumes: [{name: a, secret: {secretName: shop-engine-tls}}, {name: b, secret: {secretName: shop-gateway-tls}}, {name: c, secret: {secretName: shop-engine-ca-bundle}}, {name: d, secret: {secretName: other-gateway-tls}}]}`,
			[]string{"spec.template.spec.volumes[a].secret.secretName", "spec.template.spec.volumes[b].secret.secretName", "spec.template.spec.volumes[c].secret.secretName"},
		},
	})
}

func checkEngineTemplates(t *testing.T, rows map[string]templateRow) {
	t.Helper()
	for name, tc := range rows {
		t.Run(name, func(t *testing.T) {
			text := strings.ReplaceAll(tc.template, "\t", "")
			e := &v1alpha1.FireboltEngine{Spec: v1alpha1.FireboltEngineSpec{Template: read[corev1.PodTemplateSpec](t, text)}}
			if diff := cmp.Diff(tc.want, paths(EngineTemplate(e, shop()))); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEngineAllowsMissingTemplateAndInstance(t *testing.T) {
	if got := EngineAll(&v1alpha1.FireboltEngine{}, nil, nil, Bounds{}); got != nil {
		t.Errorf("EngineAll = %v", got)
	}
}

func TestClassTemplateRejectsInstanceSecret(t *testing.T) {
	class := classWith(t, `spec: {hostNetwork: true, volumes: [{name: a, secret: {secretName: db}}, {name: b, secret: {secretName: x-auth-signing}}]}`)
	if diff := cmp.Diff([]string{"spec.template.spec.hostNetwork", "spec.template.spec.volumes[b].secret.secretName"}, paths(Class(class))); diff != "" {
		t.Errorf("class (-want +got):\n%s", diff)
	}
	got := EngineAll(&v1alpha1.FireboltEngine{}, class, shop(), Bounds{})
	if diff := cmp.Diff([]string{"spec.template.spec.volumes[a].secret.secretName"}, paths(got)); diff != "" {
		t.Errorf("engine (-want +got):\n%s", diff)
	}
	if want := `inherited from FireboltEngineClass "big"`; !strings.Contains(Message(got), want) {
		t.Errorf("message %q does not contain %q", Message(got), want)
	}
	if got := EngineInherited(class, nil); got != nil {
		t.Errorf("without an instance: %v", got)
	}
}

// Two lists of one pod cannot have the same name. A conflict within one layer is reported on that layer only.
func TestEngineAndClassUseContainerNamesOnce(t *testing.T) {
	conflict := func(list string) string {
		return "spec.template.spec." + list + `[log]: the name must be unique, but another container has it (inherited from FireboltEngineClass "big").`
	}
	for name, tc := range map[string]struct{ class, engine, want string }{
		"the same list":              {`{containers: [{name: log}], initContainers: [{name: wait}]}`, `{containers: [{name: log}], initContainers: [{name: wait}]}`, ""},
		"an init container":          {`{containers: [{name: log}]}`, `{initContainers: [{name: wait}, {name: log}]}`, conflict("initContainers")},
		"a container":                {`{initContainers: [{name: log}]}`, `{containers: [{name: engine}, {name: log}]}`, conflict("containers")},
		"both in the class":          {`{containers: [{name: log}], initContainers: [{name: log}]}`, `{containers: [{name: log}]}`, ""},
		"both in the engine":         {`{containers: [{name: log}]}`, `{containers: [{name: log}], initContainers: [{name: log}]}`, ""},
		"the main container":         {`{containers: [{name: engine}]}`, `{initContainers: [{name: engine}]}`, ""},
		"the class's init container": {`{initContainers: [{name: engine}]}`, `{containers: [{name: engine}]}`, ""},
		"a reserved name":            {`{containers: [{name: engine-web}]}`, `{initContainers: [{name: engine-web}]}`, ""},
		"a class without containers": {`{}`, `{containers: [{name: log}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			class := classWith(t, "spec: "+tc.class)
			e := &v1alpha1.FireboltEngine{Spec: v1alpha1.FireboltEngineSpec{Template: read[corev1.PodTemplateSpec](t, "spec: "+tc.engine)}}
			if got := Message(EngineMerged(e, class)); got != tc.want {
				t.Errorf("message %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAutoStopIsUnsupported(t *testing.T) {
	on, off := &v1alpha1.AutoStopSpec{Enabled: true}, &v1alpha1.AutoStopSpec{}
	cases := map[string]struct {
		engine, class *v1alpha1.AutoStopSpec
		want          string
	}{
		"nowhere":                    {nil, nil, ""},
		"off in the engine":          {off, nil, ""},
		"on in the engine":           {on, nil, "spec.autoStop.enabled: is not supported by this release of the engine operator."},
		"on in the class":            {nil, on, `spec.autoStop.enabled: is not supported by this release of the engine operator (inherited from FireboltEngineClass "c").`},
		"the engine switches it off": {off, on, ""},
		"the engine switches it on":  {on, off, "spec.autoStop.enabled: is not supported by this release of the engine operator."},
		"on in both":                 {on, on, "spec.autoStop.enabled: is not supported by this release of the engine operator."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			class := &v1alpha1.FireboltEngineClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Spec: v1alpha1.FireboltEngineClassSpec{AutoStop: tc.class}}
			e := &v1alpha1.FireboltEngine{Spec: v1alpha1.FireboltEngineSpec{AutoStop: tc.engine}}
			if got := Message(EngineUnsupported(e, class)); got != tc.want {
				t.Errorf("message = %q, want %q", got, tc.want)
			}
			if got := len(ClassUnsupported(class)) > 0; got != (tc.class == on) {
				t.Errorf("class unsupported = %v", got)
			}
		})
	}
}

// A field that the earlier operator accepted and ignored is a warning, not a violation.
func TestIgnoredFieldsAreWarnings(t *testing.T) {
	cases := map[string]struct {
		template string
		want     []string
	}{
		"defect 11, what was silently ignored": {
			`spec: {nodeName: n, setHostnameAsFQDN: true, enableServiceLinks: true, automountServiceAccountToken: false, priority: 3,
			serviceAccount: s, schedulingGates: [{name: g}], resources: {limits: {cpu: 1}}, ephemeralContainers: [{name: e}]}`,
			[]string{
				"spec.template.spec.automountServiceAccountToken", "spec.template.spec.enableServiceLinks",
				"spec.template.spec.ephemeralContainers", "spec.template.spec.nodeName", "spec.template.spec.priority",
				"spec.template.spec.resources", "spec.template.spec.schedulingGates", "spec.template.spec.serviceAccount",
				"spec.template.spec.setHostnameAsFQDN",
			},
		},
		"volumes of reserved names": {
			`spec: {volumes: [{name: data, emptyDir: {}}, {name: engine-config, emptyDir: {}}, {name: mine, emptyDir: {}}]}`,
			[]string{"spec.template.spec.volumes[data]", "spec.template.spec.volumes[engine-config]"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := strings.ReplaceAll(tc.template, "\t", "")
			e := &v1alpha1.FireboltEngine{Spec: v1alpha1.FireboltEngineSpec{Template: read[corev1.PodTemplateSpec](t, text)}}
			if diff := cmp.Diff(tc.want, paths(EngineIgnored(e, nil))); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
			if got := EngineAll(e, nil, nil, Bounds{}); got != nil {
				t.Errorf("rejected: %v", got)
			}
			class := &v1alpha1.FireboltEngineClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Spec: v1alpha1.FireboltEngineClassSpec{Template: *e.Spec.Template}}
			if got := Message(EngineIgnored(&v1alpha1.FireboltEngine{}, class)); !strings.Contains(got, `inherited from FireboltEngineClass "c"`) {
				t.Errorf("message %q does not name the class", got)
			}
		})
	}
}

// A name that leaves room for few generations causes a warning with their number.
func TestLongNamesAreWarnings(t *testing.T) {
	for length, from := range map[int]string{1: "", 43: "", 44: "1000000", 46: "10000", 47: "1000", 48: "100"} {
		got := LongName(strings.Repeat("a", length))
		if (from == "") != (got == "") || !strings.Contains(got, "from generation "+from+" on") && from != "" {
			t.Errorf("%d characters: %q, want from generation %q on", length, got, from)
		}
	}
}

// 64-bit integers keep their digits; the API server truncates others to 17 digits.
func TestRoundedNumbersAreWarnings(t *testing.T) {
	for number, rounded := range map[string]bool{
		"9007199254740993": false, "-9223372036854775808": false, "9223372036854775807": false, "2.5": false,
		"18446744073709551615": true, "-18446744073709552000": true, "1e30": true,
	} {
		e := &v1alpha1.FireboltEngine{Spec: v1alpha1.FireboltEngineSpec{CustomEngineConfig: &apiextensionsv1.JSON{Raw: []byte(`{"a": [{"b": ` + number + `}]}`)}}}
		if got := paths(EngineIgnored(e, nil)); (len(got) > 0) != rounded || rounded && got[0] != "spec.customEngineConfig.a[0].b" {
			t.Errorf("%s: warnings %v, want one: %t", number, got, rounded)
		}
	}
}
