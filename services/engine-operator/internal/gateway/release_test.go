package gateway_test

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/testkit/renderdiff"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/gateway"
)

// TestUpgradeKeepsRenderedObjects checks that this release renders the same objects as the previous one,
// so that an upgrade restarts no gateway.
func TestUpgradeKeepsRenderedObjects(t *testing.T) {
	renderdiff.Renders{
		Cases: []string{"testdata/minimal", "testdata/layered"}, Inputs: []string{"instance.yaml"}, Changelog: "../../CHANGELOG.md",
		Render: func(t *testing.T, dir string) map[string][]byte {
			t.Helper()
			raw, err := os.ReadFile(filepath.Join(dir, "instance.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			i := &v1alpha1.FireboltInstance{}
			if err := yaml.UnmarshalStrict(raw, i); err != nil {
				t.Fatal(err)
			}
			o := render(t, i)
			deployment, err := yaml.Marshal(o.Deployment)
			if err != nil {
				t.Fatal(err)
			}
			return map[string][]byte{"gateway-deployment.yaml": deployment, gateway.ConfigFile: []byte(o.Config.Data[gateway.ConfigFile])}
		},
	}.Check(t)
}
