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

// Sample reads the objects of a file in test/e2e/samples, except those with the given names.
func (p *Platform) Sample(name string, without ...string) ([]*unstructured.Unstructured, error) {
	return p.Objects(filepath.Join("test/e2e/samples", name), without...)
}

// Objects reads the objects of a file in the checkout, except those with the given names.
func (p *Platform) Objects(file string, without ...string) ([]*unstructured.Unstructured, error) {
	path := filepath.Join(p.Root, file)
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w; set --root to the checkout", err)
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

// ApplyObjects applies objects with kubectl.
func (p *Platform) ApplyObjects(ctx context.Context, namespace string, objects []*unstructured.Unstructured) error {
	list, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	if err != nil {
		return err
	}
	return p.Apply(ctx, namespace, string(list))
}

// ApplySample applies the objects of Sample.
func (p *Platform) ApplySample(ctx context.Context, namespace, name string, without ...string) error {
	objects, err := p.Sample(name, without...)
	if err != nil {
		return err
	}
	return p.ApplyObjects(ctx, namespace, objects)
}

// InPostgres runs a statement with psql in the pod of the sample, and returns the result with one line per row.
func (p *Platform) InPostgres(ctx context.Context, namespace, database, statement string) (string, error) {
	out, err := p.Kubectl(ctx, "", "exec", "-n", namespace, "postgres-0", "--",
		"psql", "--username=superset", "--dbname="+database, "--no-align", "--tuples-only", "--command", statement)
	return strings.TrimSpace(out), err
}
