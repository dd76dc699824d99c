package platform

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Sample reads the objects of a sample of test/e2e/samples but those of these names.
func (p *Platform) Sample(name string, without ...string) ([]*unstructured.Unstructured, error) {
	return p.Objects(filepath.Join("test/e2e/samples", name), without...)
}

// Objects reads the objects of a file of the checkout but those of these names.
func (p *Platform) Objects(file string, without ...string) ([]*unstructured.Unstructured, error) {
	path := filepath.Join(p.Root, file)
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w; name the checkout by --root", err)
	}
	var out []*unstructured.Unstructured
	for document := range strings.SplitSeq(string(raw), "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		if !slices.Contains(without, o.GetName()) {
			out = append(out, o)
		}
	}
	return out, nil
}

// ApplyObjects applies objects as a person would apply their file.
func (p *Platform) ApplyObjects(ctx context.Context, namespace string, objects []*unstructured.Unstructured) error {
	list, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	if err != nil {
		return err
	}
	return p.Apply(ctx, namespace, string(list))
}

// InPostgres asks the PostgreSQL of the sample, within its pod, and returns what it answers, a line for each row.
func (p *Platform) InPostgres(ctx context.Context, namespace, database, statement string) (string, error) {
	out, err := p.Kubectl(ctx, "", "exec", "-n", namespace, "postgres-0", "--",
		"psql", "--username=superset", "--dbname="+database, "--no-align", "--tuples-only", "--command", statement)
	return strings.TrimSpace(out), err
}
