package webhook

import (
	"strings"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// Manifests returns the files below config that name the kinds, by their path there.
func Manifests(kinds []*registry.Kind) map[string][]byte {
	plurals := make([]string, 0, len(kinds))
	for _, kind := range kinds {
		plurals = append(plurals, kind.Plural)
	}
	fill := func(text, version string) []byte {
		return []byte(strings.NewReplacer(
			"NAME", name, "VERSION", version, "GROUP", api.Group, "SERVED", api.Version, "FINALIZER", api.IngesterFinalizer,
			"PATH", path, "RESOURCES", strings.Join(plurals, ", "), "LACKING", missingExpression,
		).Replace(text))
	}
	return map[string][]byte{
		"admission/manifests.yaml":         fill(policy, "v1"),
		"admission/manifests_v1beta1.yaml": fill(policy, "v1beta1"),
		"webhook/manifests.yaml":           fill(configuration, ""),
	}
}

// missingExpression is the match condition of policy and webhook: the object does not have our finalizer.
const missingExpression = `"!has(object.metadata.finalizers) || !('` + api.IngesterFinalizer + `' in object.metadata.finalizers)"`

// policy is the template for both versions of the API, whose fields are equal.
const policy = `# Generated from the registry by go generate. Do not edit.
#
# Gives every new object the ingester's finalizer. Install it while an ingester runs, and
# remove it before "ingester remove-finalizers" (docs/finalizer.md). An ingester that watches some
# namespaces only (--watch-namespaces) requires a namespaceSelector for these in the binding:
#   matchResources: {namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [...]}]}}
apiVersion: admissionregistration.k8s.io/VERSION
kind: MutatingAdmissionPolicy
metadata:
  name: NAME-finalizer
  labels: {app.kubernetes.io/name: ingester, app.kubernetes.io/part-of: flotilla}
spec:
  matchConstraints:
    resourceRules:
      - apiGroups: [GROUP]
        apiVersions: [SERVED]
        resources: [RESOURCES]
        operations: [CREATE]
        scope: Namespaced
  matchConditions:
    - name: lacks-the-finalizer
      expression: LACKING
  mutations:
    - patchType: JSONPatch
      jsonPatch:
        expression: >-
          has(object.metadata.finalizers) && size(object.metadata.finalizers) > 0
          ? [JSONPatch{op: "add", path: "/metadata/finalizers/-", value: "FINALIZER"}]
          : [JSONPatch{op: "add", path: "/metadata/finalizers", value: ["FINALIZER"]}]
  failurePolicy: Ignore
  reinvocationPolicy: IfNeeded
---
apiVersion: admissionregistration.k8s.io/VERSION
kind: MutatingAdmissionPolicyBinding
metadata:
  name: NAME-finalizer
  labels: {app.kubernetes.io/name: ingester, app.kubernetes.io/part-of: flotilla}
spec:
  policyName: NAME-finalizer
`

const configuration = `# Generated from the registry by go generate. Do not edit.
#
# The webhook of the ingester, by the Service of service.yaml, for clusters that do not
# serve MutatingAdmissionPolicy (see ../admission). It needs --enable-webhooks.
#
# The caBundle is absent: the ingester sets it when it issues its own certificates
# (the default). With cert-manager, set --webhook-cert-dir of the ingester and add
#   metadata: {annotations: {cert-manager.io/inject-ca-from: flotilla-system/ingester-webhook}}
# (certmanager.yaml). Either way, "kubectl apply" of this file leaves a caBundle in place.
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: NAME
  labels: {app.kubernetes.io/name: ingester, app.kubernetes.io/part-of: flotilla}
webhooks:
  - name: finalizer.GROUP
    clientConfig:
      service: {namespace: flotilla-system, name: ingester-webhook, path: PATH}
    rules:
      - apiGroups: [GROUP]
        apiVersions: [SERVED]
        resources: [RESOURCES]
        operations: [CREATE]
        scope: Namespaced
    matchConditions:
      - name: lacks-the-finalizer
        expression: LACKING
    failurePolicy: Ignore
    matchPolicy: Equivalent
    reinvocationPolicy: IfNeeded
    sideEffects: None
    timeoutSeconds: 2
    admissionReviewVersions: [v1]
`
