package validation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// certs is a certManager section.
const certs = `certManager: {issuerRef: {name: ca, kind: Issuer}, algorithm: `

// instanceCase is a spec with the paths of its errors.
type instanceCase struct {
	spec string
	want []string
}

func TestInstance(t *testing.T) {
	checkInstances(t, map[string]instanceCase{
		"the least":             {`{}`, nil},
		"one metadata replica":  {`{metadata: {replicas: 1}}`, nil},
		"two metadata replicas": {`{metadata: {replicas: 2}}`, []string{"spec.metadata.replicas"}},
		"no metadata replica":   {`{metadata: {replicas: 0}}`, []string{"spec.metadata.replicas"}},
		"a database without credentials": {
			`{metadata: {postgres: {host: h, database: d, credentialsSecretRef: {}}}}`,
			[]string{"spec.metadata.postgres.credentialsSecretRef.name"},
		},
		"a port of the gateway for its metrics": {`{gateway: {metricsPort: 8080}}`, []string{"spec.gateway.metricsPort"}},
		"another port":                          {`{gateway: {metricsPort: 8081}}`, nil},
		"both templates": {
			`{metadata: {template: {spec: {hostPID: true, containers: [{name: metadata, image: i, env: [{name: A}]}, {name: envoy, tty: true}]}}},
			gateway: {template: {spec: {nodeName: n, containers: [{name: envoy, resources: {}, securityContext: {}}, {name: wake-agent}]}}}}`,
			[]string{
				"spec.gateway.template.spec.containers[envoy].securityContext", "spec.gateway.template.spec.containers[wake-agent]",
				"spec.metadata.template.spec.containers[metadata].env",
				"spec.metadata.template.spec.hostPID",
			},
		},
		"Secrets in sidecars": {
			`{metadata: {postgres: {host: h, database: d, credentialsSecretRef: {name: db}}, template: {spec: {
				containers: [{name: a, volumeMounts: [{name: postgres-creds, mountPath: /a}, {name: config, mountPath: /b}]}], volumes: [{name: v, secret: {secretName: db}}]}}},
			gateway: {template: {spec: {initContainers: [{name: b, volumeMounts: [{name: client-ca, mountPath: /a}, {name: tmp, mountPath: /b}], envFrom: [{secretRef: {name: db}}]}]}}}}`,
			[]string{
				"spec.gateway.template.spec.initContainers[b].envFrom[0].secretRef.name",
				"spec.gateway.template.spec.initContainers[b].volumeMounts[client-ca]",
				"spec.metadata.template.spec.containers[a].volumeMounts[postgres-creds]",
				"spec.metadata.template.spec.volumes[v].secret.secretName",
			},
		},
	})
}

func TestInstanceAuthAndTLS(t *testing.T) {
	checkInstances(t, map[string]instanceCase{
		"unsupported features": {
			`{auth: {enabled: true}, tls: {gateway: {enabled: true, secretRef: {name: x}}, engine: {enabled: true}}}`,
			[]string{"spec.auth.enabled", "spec.tls.engine.enabled", "spec.tls.gateway.enabled"},
		},
		"features that are switched off": {`{auth: {enabled: false}, tls: {gateway: {enabled: false}, engine: {enabled: false}}}`, nil},
		"trust of a listener that is off": {
			`{tls: {gateway: {enabled: false, clientCASecretRef: {name: a}, crlSecretRef: {name: b}}, engine: {enabled: false, crlSecretRef: {name: c}}}}`,
			[]string{"spec.tls.engine.crlSecretRef", "spec.tls.gateway.clientCASecretRef", "spec.tls.gateway.crlSecretRef"},
		},
		"a revocation list without a CA": {
			`{tls: {gateway: {enabled: true, crlSecretRef: {name: b}}}}`, []string{"spec.tls.gateway.crlSecretRef", "spec.tls.gateway.enabled"},
		},
		"Secrets for engines": {
			`{tls: {engine: {enabled: false, secretRef: {name: a}, clientCASecretRef: {name: b}}}}`,
			[]string{"spec.tls.engine.clientCASecretRef", "spec.tls.engine.secretRef"},
		},
		"Secrets of the operator": {
			`{tls: {gateway: {enabled: false, secretRef: {name: shop-gateway-tls}}}}`, []string{"spec.tls.gateway.secretRef.name"},
		},
		"a Secret without a name": {`{tls: {gateway: {enabled: false, secretRef: {}}}}`, []string{"spec.tls.gateway.secretRef.name"}},
		"sizes of keys": {
			`{tls: {gateway: {enabled: false, ` + certs + `RSA, size: 384}}, engine: {enabled: false, ` + certs + `ECDSA, size: 2048}}}}`,
			[]string{"spec.tls.engine.certManager.size", "spec.tls.gateway.certManager.size"},
		},
		"sizes that fit": {
			`{tls: {gateway: {enabled: false, ` + certs + `RSA, size: 4096}}, engine: {enabled: false, certManager: {issuerRef: {name: ca}}}}}`, nil,
		},
	})
}

func checkInstances(t *testing.T, cases map[string]instanceCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, paths(InstanceAll(instance(t, tc.spec)))); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
		})
	}
}

func instance(t *testing.T, spec string) *v1alpha1.FireboltInstance {
	t.Helper()
	i := &v1alpha1.FireboltInstance{Spec: *read[v1alpha1.FireboltInstanceSpec](t, spec)}
	i.Name = "shop"
	return i
}

func TestInstanceRejectsImmutableChanges(t *testing.T) {
	signing := func(size string) string {
		return `{auth: {enabled: true, local: {signingKeys: {certManager: {issuerRef: {name: ca}, size: ` + size + `}}}}}`
	}
	tls := func(enabled, name string) string {
		return `{tls: {engine: {enabled: ` + enabled + `, certManager: {issuerRef: {name: ` + name + `}}}}}`
	}
	cases := map[string]struct {
		before, after string
		want          []string
	}{
		"nothing changed":           {signing("384"), signing("384"), nil},
		"another size":              {signing("384"), signing("521"), []string{"spec.auth.local.signingKeys.certManager.size"}},
		"the first size":            {signing("0"), signing("521"), nil},
		"the keys went":             {signing("384"), `{}`, nil},
		"another issuer":            {tls("true", "a"), tls("true", "b"), []string{"spec.tls.engine.certManager.issuerRef"}},
		"the same issuer":           {tls("true", "a"), tls("true", "a"), nil},
		"an issuer after it is off": {tls("true", "a"), tls("false", "b"), nil},
		"an issuer while it is off": {tls("false", "a"), tls("false", "b"), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := InstanceUpdate(instance(t, tc.before), instance(t, tc.after))
			if diff := cmp.Diff(tc.want, paths(got)); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
			for _, e := range got {
				if e.Type != field.ErrorTypeInvalid {
					t.Errorf("%v is %s", e, e.Type)
				}
			}
		})
	}
}
