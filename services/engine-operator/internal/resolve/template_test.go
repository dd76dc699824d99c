package resolve

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func template(t testing.TB, text string) *corev1.PodTemplateSpec {
	t.Helper()
	out := &corev1.PodTemplateSpec{}
	if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// mergeRow has the templates of a class and an engine, and the result.
type mergeRow struct{ class, engine, want string }

// Every rule of reference 2.6, by the result for a field that class and engine both set.
func TestTemplatesMergeFieldByField(t *testing.T) {
	checkMerges(t, map[string]mergeRow{
		"an empty engine template leaves the class": {`{spec: {serviceAccountName: c}}`, `{}`, `{spec: {serviceAccountName: c}}`},
		"scalars of the engine win": {
			`{spec: {serviceAccountName: c, priorityClassName: c, runtimeClassName: c, dnsPolicy: Default, schedulerName: c, preemptionPolicy: Never}}`,
			`{spec: {serviceAccountName: e, priorityClassName: e, runtimeClassName: e, dnsPolicy: ClusterFirst, schedulerName: e, preemptionPolicy: PreemptLowerPriority}}`,
			`{spec: {serviceAccountName: e, priorityClassName: e, runtimeClassName: e, dnsPolicy: ClusterFirst, schedulerName: e, preemptionPolicy: PreemptLowerPriority}}`,
		},
		"structs of the engine replace the class's as a whole": {
			`{spec: {securityContext: {runAsUser: 1, fsGroup: 1}, dnsConfig: {nameservers: [a]}, overhead: {cpu: 1}, os: {name: windows}, affinity: {nodeAffinity: {}}}}`,
			`{spec: {securityContext: {runAsUser: 2}, dnsConfig: {searches: [b]}, overhead: {memory: 1}, os: {name: linux}, affinity: {podAffinity: {}}}}`,
			`{spec: {securityContext: {runAsUser: 2}, dnsConfig: {searches: [b]}, overhead: {memory: 1}, os: {name: linux}, affinity: {podAffinity: {}}}}`,
		},
		"maps merge by key": {
			`{metadata: {labels: {a: c, b: c}, annotations: {a: c}}, spec: {nodeSelector: {a: c, b: c}}}`,
			`{metadata: {labels: {b: e}, annotations: {b: e}}, spec: {nodeSelector: {b: e}}}`,
			`{metadata: {labels: {a: c, b: e}, annotations: {a: c, b: e}}, spec: {nodeSelector: {a: c, b: e}}}`,
		},
		"lists without a key are joined": {
			`{spec: {tolerations: [{key: a}], readinessGates: [{conditionType: a}], containers: [{name: engine, envFrom: [{prefix: a}]}]}}`,
			`{spec: {tolerations: [{key: a}], readinessGates: [{conditionType: b}], containers: [{name: engine, envFrom: [{prefix: b}]}]}}`,
			`{spec: {tolerations: [{key: a}, {key: a}], readinessGates: [{conditionType: a}, {conditionType: b}], containers: [{name: engine, envFrom: [{prefix: a}, {prefix: b}]}]}}`,
		},
		"entries of the same key are replaced in place": {
			`{spec: {hostAliases: [{ip: x, hostnames: [c]}, {ip: y}], imagePullSecrets: [{name: a}], resourceClaims: [{name: a, resourceClaimName: c}],
			  topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule}], volumes: [{name: v, emptyDir: {}}, {name: w}],
			  initContainers: [{name: i, image: c}]}}`,
			`{spec: {hostAliases: [{ip: x, hostnames: [e]}], imagePullSecrets: [{name: a}], resourceClaims: [{name: a, resourceClaimName: e}],
			  topologySpreadConstraints: [{maxSkew: 2, topologyKey: z, whenUnsatisfiable: DoNotSchedule}], volumes: [{name: v, hostPath: {path: /}}],
			  initContainers: [{name: i, image: e}]}}`,
			`{spec: {hostAliases: [{ip: x, hostnames: [e]}, {ip: y}], imagePullSecrets: [{name: a}], resourceClaims: [{name: a, resourceClaimName: e}],
			  topologySpreadConstraints: [{maxSkew: 2, topologyKey: z, whenUnsatisfiable: DoNotSchedule}], volumes: [{name: v, hostPath: {path: /}}, {name: w}],
			  initContainers: [{name: i, image: e}]}}`,
		},
		"unsupported fields are dropped": {
			`{metadata: {name: x}, spec: {nodeName: n, hostNetwork: true, subdomain: s, automountServiceAccountToken: true}}`, `{}`, `{}`,
		},
	})
}

func TestContainersMergeFieldByField(t *testing.T) {
	checkMerges(t, map[string]mergeRow{
		"image, policy and resources of the engine container resolve independently": {
			`{spec: {containers: [{name: engine, image: c, imagePullPolicy: Never, resources: {limits: {cpu: 1}}, workingDir: /c, terminationMessagePath: /c, lifecycle: {}}]}}`,
			`{spec: {containers: [{name: engine, image: e, resources: {requests: {cpu: 2}}, terminationMessagePolicy: File, securityContext: {}}]}}`,
			`{spec: {containers: [{name: engine, image: e, imagePullPolicy: Never, resources: {requests: {cpu: 2}}, workingDir: /c, terminationMessagePath: /c, lifecycle: {}, terminationMessagePolicy: File, securityContext: {}}]}}`,
		},
		"empty resources leave the class's": {
			`{spec: {containers: [{name: engine, resources: {limits: {cpu: 1}}}]}}`,
			`{spec: {containers: [{name: engine, resources: {limits: {}}}]}}`,
			`{spec: {containers: [{name: engine, resources: {limits: {cpu: 1}}}]}}`,
		},
		"a sidecar of the same name is replaced as a whole": {
			`{spec: {containers: [{name: a, image: c, env: [{name: X}]}, {name: b}]}}`,
			`{spec: {containers: [{name: a, image: e}]}}`,
			`{spec: {containers: [{name: a, image: e}, {name: b}]}}`,
		},
		"duplicates within one container of one layer are removed too": {
			`{spec: {containers: [{name: a, env: [{name: X, value: "1"}, {name: X, value: "2"}], volumeMounts: [{name: v, mountPath: /a}, {name: w, mountPath: /a}],
			  ports: [{containerPort: 1, name: p}, {containerPort: 1, protocol: TCP}, {containerPort: 1, protocol: UDP}], resizePolicy: [{resourceName: cpu}, {resourceName: cpu, restartPolicy: NotRequired}],
			  volumeDevices: [{name: v, devicePath: /d}, {name: w, devicePath: /d}], resources: {claims: [{name: g}, {name: g, request: r}]}}]}}`,
			`{}`,
			`{spec: {containers: [{name: a, env: [{name: X, value: "2"}], volumeMounts: [{name: w, mountPath: /a}],
			  ports: [{containerPort: 1, protocol: TCP}, {containerPort: 1, protocol: UDP}], resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}],
			  volumeDevices: [{name: w, devicePath: /d}], resources: {claims: [{name: g, request: r}]}}]}}`,
		},
	})
}

func checkMerges(t *testing.T, cases map[string]mergeRow) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			class, engine := template(t, tc.class), template(t, tc.engine)
			got := Templates(class, engine)
			if diff := cmp.Diff(template(t, tc.want), &got); diff != "" {
				t.Errorf("template (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(template(t, tc.class), class); diff != "" {
				t.Errorf("the class was changed (-before +after):\n%s", diff)
			}
		})
	}
}

// No merge keeps two entries with the same key, for any layers.
func FuzzMergeTemplates(f *testing.F) {
	f.Add(`{"spec":{"containers":[{"name":"engine","env":[{"name":"A"}]}]}}`, `{"spec":{"containers":[{"name":"engine","env":[{"name":"A"},{"name":"A"}]},{"name":"engine"}]}}`)
	f.Add(`{"spec":{"volumes":[{"name":"v"}],"hostAliases":[{"ip":"a"}]}}`, `{"spec":{"volumes":[{"name":"v"},{"name":"v"}],"hostAliases":[{"ip":"a"}]}}`)
	f.Add(`{"spec":{"initContainers":[{"name":"i","ports":[{"containerPort":1},{"containerPort":1,"protocol":"TCP"}]}]}}`, `{}`)
	f.Fuzz(func(t *testing.T, class, engine string) {
		var lower, upper corev1.PodTemplateSpec
		if yaml.Unmarshal([]byte(class), &lower) != nil || yaml.Unmarshal([]byte(engine), &upper) != nil {
			return
		}
		got := Templates(&lower, &upper)
		s := got.Spec
		distinct(t, "container", s.Containers, containerName)
		distinct(t, "init container", s.InitContainers, containerName)
		distinct(t, "volume", s.Volumes, volumeName)
		distinct(t, "host alias", s.HostAliases, aliasIP)
		distinct(t, "pull secret", s.ImagePullSecrets, secretName)
		distinct(t, "claim", s.ResourceClaims, claimName)
		distinct(t, "spread constraint", s.TopologySpreadConstraints, spreadKey)
		for _, c := range append(s.Containers, s.InitContainers...) {
			distinct(t, "variable", c.Env, EnvName)
			distinct(t, "mount", c.VolumeMounts, MountPath)
			distinct(t, "device", c.VolumeDevices, devicePath)
			distinct(t, "port", c.Ports, portKey)
			distinct(t, "used claim", c.Resources.Claims, usedClaim)
		}
	})
}

func distinct[T any](t *testing.T, what string, list []T, key func(T) string) {
	t.Helper()
	seen := map[string]bool{}
	for _, e := range list {
		if seen[key(e)] {
			t.Errorf("two entries of %s %q", what, key(e))
		}
		seen[key(e)] = true
	}
}
