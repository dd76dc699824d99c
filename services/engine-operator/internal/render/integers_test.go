package render

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/resolve"
)

// 64-bit integers of a configuration are written as integers, not as floating point numbers.
func TestIntegersKeepDigits(t *testing.T) {
	for _, n := range []string{"9007199254740993", "-9007199254740993", "9223372036854775807", "1", "2.5"} {
		e := &v1alpha1.FireboltEngine{}
		e.Name = "e"
		e.Spec.CustomEngineConfig = &apiextensionsv1.JSON{Raw: []byte(`{"limits": {"bytes": ` + n + `, "list": [` + n + `]}}`)}
		r, err := resolve.Resolve(e, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		g, err := Of(Input{Engine: r})
		if err != nil {
			t.Fatal(err)
		}
		text := g.Config.Data["config.yaml"]
		if !strings.Contains(text, "bytes: "+n+"\n") || !strings.Contains(text, "- "+n+"\n") {
			t.Errorf("%s is rendered as\n%s", n, text)
		}
	}
}
