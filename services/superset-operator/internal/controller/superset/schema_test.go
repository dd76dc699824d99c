package superset_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
)

// TestSchemaErrorsNameField violates every rule of the CRD.
func TestSchemaErrorsNameField(t *testing.T) {
	rejections := checkRejected(t, badTop, badMetastore, badTuning, badComponents, badLifecycle, badNetworking, badPairs, badNames())
	for _, message := range ruleMessages(t) {
		if !strings.Contains(rejections, message) {
			t.Errorf("no bad spec violates the rule %q", message)
		}
	}
}

// TestW13SchemaRejectsHostlessIngressAndForeignClone checks that the schema rejects an Ingress without a host and a
// clone from another kind of database, which the operator could never apply.
func TestW13SchemaRejectsHostlessIngressAndForeignClone(t *testing.T) { checkRejected(t, badPairs) }

// checkRejected creates each bad spec and its valid neighbor on a real API server, and returns the API server's errors.
func checkRejected(t *testing.T, tables ...map[string]badSpec) string {
	t.Helper()
	c := cluster.Get(t)
	cl, namespace := client.NewDryRunClient(c.Client(t, scheme(t))), c.Namespace(t)
	rejections := new(strings.Builder)
	for _, table := range tables {
		for name, tc := range table {
			t.Run(name, func(t *testing.T) {
				err := cl.Create(t.Context(), object(t, namespace, tc.name, tc.patch))
				if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("want an error with %q, got %v", tc.want, err)
				}
				if err != nil {
					rejections.WriteString(err.Error())
				}
				if err := cl.Create(t.Context(), object(t, namespace, tc.validName, tc.valid)); err != nil {
					t.Errorf("the valid neighbor is rejected: %v", err)
				}
			})
		}
	}
	return rejections.String()
}

// ruleMessages returns the messages of all CEL rules of the CRD.
func ruleMessages(t *testing.T) []string {
	t.Helper()
	var out []string
	var walk func(node any)
	walk = func(node any) {
		switch n := node.(type) {
		case map[string]any:
			if message, isRule := n["message"].(string); isRule && n["rule"] != nil {
				out = append(out, message)
			}
			for _, child := range n {
				walk(child)
			}
		case []any:
			for _, child := range n {
				walk(child)
			}
		}
	}
	walk(readCRD(t))
	if len(out) < 51 {
		t.Errorf("the CRD has only %d rules", len(out))
	}
	return out
}

// readCRD reads the CustomResourceDefinition that is installed.
func readCRD(t *testing.T) map[string]any {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(crdDir, "superset.apache.org_supersets.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	crd := map[string]any{}
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

// valid is the valid spec that every case changes.
const valid = `
environment: Development
image: {tag: "6.0.0"}
secretKey: s
metastore: {host: db, database: d, username: u}
webServer: {}
`

// object is the valid spec with the patches, which --- separates, merged over it; null removes.
func object(t *testing.T, namespace, name, patches string) *unstructured.Unstructured {
	t.Helper()
	spec := map[string]any{}
	if err := yaml.Unmarshal([]byte(valid), &spec); err != nil {
		t.Fatal(err)
	}
	for patch := range strings.SplitSeq(patches, "\n---\n") {
		fields := map[string]any{}
		if err := yaml.Unmarshal([]byte(patch), &fields); err != nil {
			t.Fatalf("%v in %q", err, patch)
		}
		merge(spec, fields)
	}
	if name == "" {
		name = "x"
	}
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	obj.SetAPIVersion("superset.apache.org/v1alpha1")
	obj.SetKind("Superset")
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}

func merge(into, patch map[string]any) {
	for key, value := range patch {
		child, isMap := value.(map[string]any)
		existing, hasMap := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isMap && hasMap:
			merge(existing, child)
		default:
			into[key] = value
		}
	}
}
