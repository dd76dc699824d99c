package accounts

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	account = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: ingester\n"
	role    = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: a\n  labels: {x: z}\nrules: []\n"
	hook    = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: ingester-release\n  annotations: {helm.sh/hook: pre-delete}\n"
	other   = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: ingester\n"
)

func TestDocumentsReturnAccountAndPermissions(t *testing.T) {
	got, err := Documents([]byte(strings.Join([]string{other, role, "# nothing\n", hook, account}, "---\n")), "ingester", "flotilla-system")
	if err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{
		{
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": []any{},
			"metadata": map[string]any{"name": "a", "labels": map[string]any{"x": "z"}},
		},
		{
			"apiVersion": "v1", "kind": "ServiceAccount",
			"metadata": map[string]any{"name": "ingester", "namespace": "flotilla-system"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDocumentsRejectChartWithoutAccount(t *testing.T) {
	for name, manifest := range map[string]string{
		"no account":                      role,
		"an account of another name":      strings.Replace(account, "ingester", "default", 1),
		"an account in another namespace": account + "  namespace: default\n",
		"an account of a hook":            account + "  annotations: {helm.sh/hook: pre-install}\n",
		"no YAML":                         "a: b: c",
	} {
		if _, err := Documents([]byte(manifest), "ingester", "flotilla-system"); err == nil || !strings.Contains(err.Error(), "ingester") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestListVersionFollowsContents(t *testing.T) {
	version := func(manifest string) string {
		documents, err := Documents([]byte(manifest), "ingester", "flotilla-system")
		if err != nil {
			t.Fatal(err)
		}
		text, version, err := List(documents)
		if err != nil {
			t.Fatal(err)
		}
		var list struct {
			Items []struct {
				Metadata struct{ Labels map[string]string }
			}
		}
		if err := json.Unmarshal(text, &list); err != nil {
			t.Fatal(err)
		}
		for _, item := range list.Items {
			if got := item.Metadata.Labels[Label]; got != version {
				t.Errorf("got label %q, want %q", got, version)
			}
		}
		return version
	}
	one := version(account)
	if version(account) != one {
		t.Error("equal documents have different versions")
	}
	if version(account+"---\n"+role) == one {
		t.Error("different roles have equal versions")
	}
}
