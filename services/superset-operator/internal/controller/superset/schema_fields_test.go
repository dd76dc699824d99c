package superset_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

var updateFields = flag.Bool("update-fields", false, "rewrite testdata/fields.txt")

// TestFieldsKeepNamesTypesAndLimits pins the whole API, one line per field. Removing a field or narrowing its type or
// limits breaks existing manifests.
func TestFieldsKeepNamesTypesAndLimits(t *testing.T) {
	path := filepath.Join("testdata", "fields.txt")
	var lines []string
	walkFields(t, objectSchema(t), func(f field) {
		if !f.shared && !f.foreign {
			lines = append(lines, f.String())
		}
	})
	got := strings.Join(lines, "\n") + "\n"
	if *updateFields {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update-fields to write it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("fields differ (-want +got):\n%s", diff)
	}
}

// TestKubectlExplainsAllFields reads the descriptions that kubectl explain shows from the API server.
func TestKubectlExplainsAllFields(t *testing.T) {
	c := cluster.Get(t)
	discoveryClient, err := discovery.NewDiscoveryClientForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Components struct{ Schemas map[string]map[string]any }
	}
	// The API server publishes the schema some time after the CRD was installed.
	expect.Eventually(t, expect.Long, func() error {
		raw, err := discoveryClient.RESTClient().Get().AbsPath("/openapi/v3/apis/superset.apache.org/v1alpha1").DoRaw(t.Context())
		if err != nil {
			return err
		}
		return json.Unmarshal(raw, &doc)
	})
	root := doc.Components.Schemas["org.apache.superset.v1alpha1.Superset"]
	if textOf(root, "description") == "" {
		t.Error("the kind has no description")
	}
	seen := 0
	walkFields(t, root, func(f field) {
		seen++
		description := textOf(f.schema, "description")
		switch {
		case description == "":
			t.Errorf("%s has no description", f.path)
		case !f.foreign && !strings.HasSuffix(description, "."):
			t.Errorf("the description of %s is not a sentence: %q", f.path, description)
		}
	})
	if seen < 700 {
		t.Errorf("checked only %d fields", seen)
	}
}

func TestDefaults(t *testing.T) {
	c := cluster.Get(t)
	cl, namespace := client.NewDryRunClient(c.Client(t, scheme(t))), c.Namespace(t)
	const spec = `
{image: {tag: "1"}, secretKeyFrom: {name: s, key: k}, environment: null, secretKey: null, metastore: {host: h}, valkey: {host: v, ssl: {}},
webServer: {service: {}}, networking: {ingress: {hosts: [{host: h, paths: [{}]}]}}, monitoring: {serviceMonitor: {}},
lifecycle: {podRetention: {}, migrate: {}, maintenancePage: {image: {}},
 clone: {disabled: true, image: {}, podRetention: {}, source: {host: h, database: d, username: u, passwordFrom: {name: s, key: k}}}}}`
	obj := object(t, namespace, "", spec)
	if err := cl.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	development := object(t, namespace, "y", `{metastore: null, lifecycle: {init: {adminUser: {}}}}`)
	if err := cl.Create(t.Context(), development); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]any{
		"environment":                        "Production",
		"image.repository":                   "apachesuperset.docker.scarf.sh/apache/superset",
		"image.pullPolicy":                   "IfNotPresent",
		"metastore.type":                     "PostgreSQL",
		"valkey.port":                        int64(6379),
		"valkey.ssl.certRequired":            "required",
		"webServer.service.type":             "ClusterIP",
		"networking.ingress.hosts.0.paths.0": map[string]any{"path": "/", "pathType": "Prefix"},
		"monitoring.serviceMonitor":          map[string]any{"interval": "30s"},
		"lifecycle.upgradeMode":              "Automatic",
		"lifecycle.podRetention.policy":      "RetainOnFailure",
		"lifecycle.migrate.maxRetries":       int64(3),
		"lifecycle.maintenancePage":          map[string]any{"replicas": int64(1), "image": map[string]any{"pullPolicy": "IfNotPresent"}},
		"lifecycle.clone.source.type":        "PostgreSQL",
		"lifecycle.clone.image.pullPolicy":   "IfNotPresent",
		"lifecycle.clone.podRetention":       map[string]any{"policy": "RetainOnFailure"},
	} {
		if diff := cmp.Diff(want, lookup(obj, path)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	admin := map[string]any{
		"username": "admin", "password": "admin", "firstName": "Superset", "lastName": "Admin", "email": "admin@example.com",
	}
	if diff := cmp.Diff(admin, lookup(development, "lifecycle.init.adminUser")); diff != "" {
		t.Errorf("adminUser (-want +got):\n%s", diff)
	}
}

func TestColumnsAndNames(t *testing.T) {
	crd := readCRD(t)
	spec, _ := crd["spec"].(map[string]any)
	want := map[string]any{"kind": "Superset", "listKind": "SupersetList", "plural": "supersets", "singular": "superset"}
	if diff := cmp.Diff(want, spec["names"]); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	versions, _ := spec["versions"].([]any)
	version, _ := versions[0].(map[string]any)
	var columns []string
	for _, c := range version["additionalPrinterColumns"].([]any) {
		column, _ := c.(map[string]any)
		columns = append(columns, textOf(column, "name")+" "+textOf(column, "jsonPath"))
	}
	wantColumns := []string{
		"Version .status.deployedVersion", "Wanted .status.version", "Phase .status.phase", "Lifecycle .status.lifecycle.phase", "Ready .status.ready",
		`Available .status.conditions[?(@.type=="Available")].status`, "Age .metadata.creationTimestamp",
	}
	if diff := cmp.Diff(wantColumns, columns); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
}

// field is one property of the schema.
type field struct {
	path     string
	schema   map[string]any
	required bool
	// foreign fields belong to types of Kubernetes, shared ones to a template with several occurrences, of which
	// only the first is pinned.
	foreign, shared bool
}

func (f field) String() string {
	kind := textOf(f.schema, "type")
	if kind == "" && f.schema["x-kubernetes-int-or-string"] == true {
		kind = "int-or-string"
	}
	if items, ok := f.schema["items"].(map[string]any); ok {
		kind += " of " + textOf(items, "type")
	}
	var out strings.Builder
	out.WriteString(f.path + " " + kind)
	if f.required {
		out.WriteString(" required")
	}
	for _, limit := range []string{
		"format", "default", "enum", "minimum", "maximum", "minLength", "maxLength", "pattern", "x-kubernetes-list-type", "x-kubernetes-list-map-keys",
	} {
		if value, ok := f.schema[limit]; ok {
			fmt.Fprintf(&out, " %s=%v", limit, value)
		}
	}
	return out.String()
}

// walkFields calls a function for every property below spec and status, in order. Types of Kubernetes in pod templates
// and autoscaling count as one property each.
func walkFields(t *testing.T, root map[string]any, call func(field)) {
	t.Helper()
	seen := map[string]bool{}
	for _, part := range []string{"spec", "status"} {
		v := fieldWalker{call: call, seen: seen}
		v.walk(part, childOf(childOf(root, "properties"), part), false, false)
	}
}

type fieldWalker struct {
	call func(field)
	seen map[string]bool
}

func (v fieldWalker) walk(path string, schema map[string]any, foreign, shared bool) {
	properties := childOf(schema, "properties")
	required, _ := schema["required"].([]any)
	kind, isTemplate := ownTemplate(properties)
	if isTemplate {
		shared = shared || v.seen[kind]
		v.seen[kind] = true
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		f := field{
			path: path + "." + name, schema: childOf(properties, name), foreign: foreign, shared: shared,
			required: slices.Contains(required, any(name)),
		}
		v.call(f)
		if isTemplate && name != "container" {
			continue
		}
		v.walk(f.path, f.schema, foreign || isForeign(f.path), shared)
		if items := childOf(f.schema, "items"); items != nil {
			v.walk(f.path+"[]", items, foreign || isForeign(f.path), shared)
		}
	}
}

// ownTemplate detects templates and autoscaling settings by their fields: their contents are types of Kubernetes,
// which documents them.
func ownTemplate(properties map[string]any) (kind string, isTemplate bool) {
	has := func(name string) bool { return properties[name] != nil }
	switch {
	case has("sidecars"):
		return "pod template", true
	case has("livenessProbe") && has("envFrom"):
		return "container template", true
	case has("revisionHistoryLimit") && has("strategy"):
		return "deployment template", true
	case has("maxReplicas") && has("metrics"):
		return "autoscaling", true
	}
	return "", false
}

// isForeign reports whether the property at a path has a type of Kubernetes.
func isForeign(path string) bool {
	for _, name := range []string{"From", "gatewayRef", "tls", "extraIngress", "extraEgress", "pullSecrets", "conditions", "hostnames"} {
		if strings.HasSuffix(path, name) {
			return true
		}
	}
	return false
}

// objectSchema reads the schema of the CRD.
func objectSchema(t *testing.T) map[string]any {
	t.Helper()
	versions, _ := childOf(readCRD(t), "spec")["versions"].([]any)
	version, _ := versions[0].(map[string]any)
	return childOf(childOf(version, "schema"), "openAPIV3Schema")
}

func childOf(node map[string]any, key string) map[string]any {
	out, _ := node[key].(map[string]any)
	return out
}

func textOf(node map[string]any, key string) string {
	out, _ := node[key].(string)
	return out
}

// lookup follows a path of keys and indexes below the spec.
func lookup(obj *unstructured.Unstructured, path string) any {
	node := obj.Object["spec"]
	for key := range strings.SplitSeq(path, ".") {
		switch n := node.(type) {
		case map[string]any:
			node = n[key]
		case []any:
			var i int
			if err := yaml.Unmarshal([]byte(key), &i); err != nil || i >= len(n) {
				return nil
			}
			node = n[i]
		default:
			return nil
		}
	}
	return node
}
