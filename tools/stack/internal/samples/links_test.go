package samples_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDeploySamplesLeadToEverySample keeps deploy/samples complete: one link for each sample of each service.
func TestDeploySamplesLeadToEverySample(t *testing.T) {
	top, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(top, "services/*/config/samples/*.yaml"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	want := map[string]string{}
	for _, path := range found {
		service := filepath.Base(filepath.Dir(filepath.Dir(filepath.Dir(path))))
		want[filepath.Join(service, filepath.Base(path))] = path
	}
	links, err := filepath.Glob(filepath.Join(top, "deploy/samples/*/*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, link := range links {
		target, err := filepath.EvalSymlinks(link)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(filepath.Join(top, "deploy/samples"), link)
		if err != nil {
			t.Fatal(err)
		}
		got[name] = target
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("links differ (-want +got):\n%s", diff)
	}
}
