package instance

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

func TestBlockedCountsEngines(t *testing.T) {
	for want, list := range map[string][]string{
		`The instance is kept until engine "a", which refers to it, is deleted.`:                           {"a"},
		`The instance is kept until the 2 engines that refer to it are deleted, ["a" "b"] among them.`:     {"b", "a"},
		`The instance is kept until the 4 engines that refer to it are deleted, ["a" "b" "c"] among them.`: {"d", "b", "a", "c"},
	} {
		var engines []v1alpha1.FireboltEngine
		for _, name := range list {
			engines = append(engines, v1alpha1.FireboltEngine{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		if got := blocked(engines); got != want {
			t.Errorf("blocked = %q, want %q", got, want)
		}
	}
}
