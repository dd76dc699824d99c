package render_test

import (
	"os/exec"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render/pyconfig"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// TestCauseIsPrintedLast checks the end of the output, since the kubelet keeps only the end.
func TestCauseIsPrintedLast(t *testing.T) {
	sup := &v1alpha1.Superset{ObjectMeta: metav1.ObjectMeta{Name: "sales", Namespace: "bi"}}
	sup.Spec = v1alpha1.SupersetSpec{SecretKey: new("key"), WebServer: &v1alpha1.WebServerSpec{}}
	config := pyconfig.Config(&resolve.For(sup, resolve.Options{}).Components[0].Python)
	for name, test := range map[string]struct{ program, want string }{
		"as Superset wraps an error of the metastore": {
			"try:\n    try:\n        raise OSError('timeout expired')\n    except OSError as e:\n        raise ValueError('wrapped') from e\n" +
				"except ValueError as e:\n    raise RuntimeError() from e\n",
			"OSError: timeout expired",
		},
		"an error alone": {"raise ValueError('alone')\n", "ValueError: alone"},
		"an error while another one is handled": {
			"try:\n    {}['key']\nexcept KeyError:\n    raise ValueError('the second')\n", "ValueError: the second",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "python3", "-c", config+test.program)
			cmd.Env = []string{"SUPERSET_OPERATOR__SECRET_KEY=key"}
			out, err := cmd.CombinedOutput()
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if last := lines[len(lines)-1]; err == nil || last != test.want || strings.Count(string(out), test.want) > 2 {
				t.Errorf("%v: the last line is %q, want %q:\n%s", err, last, test.want, out)
			}
		})
	}
}
