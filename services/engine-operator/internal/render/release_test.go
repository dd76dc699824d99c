package render

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/testkit/renderdiff"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// TestUpgradeKeepsRenderedObjects checks that this release renders the same objects as the previous one,
// so that an upgrade rolls no engine and restarts no metadata service.
func TestUpgradeKeepsRenderedObjects(t *testing.T) {
	renderdiff.Renders{
		Cases:     []string{"testdata/minimal", "testdata/layered", "testdata/external-postgres", "testdata/own-postgres"},
		Inputs:    []string{"engine.yaml", "class.yaml", "instance.yaml"},
		Changelog: "../../CHANGELOG.md",
		Render:    renderCase,
	}.Check(t)
}

// renderCase renders the engine or the instance of a directory, with the fingerprint that decides about a rollout.
func renderCase(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "engine.yaml")); err == nil {
		in := input(t, dir)
		g, err := Of(in)
		if err != nil {
			t.Fatal(err)
		}
		fingerprint, err := Fingerprint(in)
		if err != nil {
			t.Fatal(err)
		}
		return map[string][]byte{
			"generation.yaml": documents(t, g.Config, g.Headless, g.StatefulSet, Cluster("default", "shop-engine", 3)),
			"fingerprint.txt": []byte(fingerprint + "\n"),
		}
	}
	i := read[v1alpha1.FireboltInstance](t, filepath.Join(dir, "instance.yaml"))
	m, err := MetadataOf(i, images, 1, netip.IPv4Unspecified())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{"metadata.yaml": documents(t, m.Config, m.Service, m.Deployment)}
	if i.Spec.Metadata.Postgres == nil {
		p, err := PostgresOf(i, images, 1)
		if err != nil {
			t.Fatal(err)
		}
		out["postgres.yaml"] = documents(t, p.Service, p.StatefulSet)
	}
	return out
}

func documents(t *testing.T, objects ...any) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, o := range objects {
		raw, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString("---\n")
		b.Write(raw)
	}
	return b.Bytes()
}
