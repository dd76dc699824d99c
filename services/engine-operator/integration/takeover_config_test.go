package integration

import (
	"fmt"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// deleteConfigs deletes the ConfigMaps of the adopted workloads, whose pods could not start again without them, and
// returns what runs once they exist again. Nothing else may change.
func (l *legacyEnv) deleteConfigs(before map[string]any) map[string]any {
	l.t.Helper()
	for name, key := range map[string]string{"shop-metadata-config": "config.yaml", "shop-gateway-config": "envoy.yaml"} {
		l.remove(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}})
		expect.Object(l.t, l.api, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name}}, func(c *corev1.ConfigMap) error {
			if len(c.Data[key]) < 10 {
				return fmt.Errorf("data %v", c.Data)
			}
			return nil
		})
	}
	after := l.running()
	for _, name := range []string{"shop-metadata-config", "shop-gateway-config"} {
		before["data of "+name] = after["data of "+name]
	}
	if diff := cmp.Diff(before, after); diff != "" {
		l.t.Errorf("running workloads changed with their configuration (-before +after):\n%s", diff)
	}
	return after
}
