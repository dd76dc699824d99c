package integration

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// TestDatabaseThatCannotStartIsUpdated corrects an image that cannot be pulled. The volume stays.
func TestDatabaseThatCannotStartIsUpdated(t *testing.T) {
	t.Parallel()
	s := &testEnv{api: apiServer(t)}
	s.operator = start(t, cluster.Get(t).Namespace(t))
	s.stopAndWait()
	s.settings.Images.Postgres = "missing/postgres:16"
	s.run()
	s.volume("10Gi")
	s.create(&v1alpha1.FireboltInstance{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "shop-metadata-pg-0"}}
	expect.Object(t, s.api, pod, func(p *corev1.Pod) error {
		isPullFailure := func(c corev1.ContainerStatus) bool {
			return c.State.Waiting != nil && c.State.Waiting.Reason == "ImagePullBackOff"
		}
		if !slices.ContainsFunc(p.Status.ContainerStatuses, isPullFailure) {
			return fmt.Errorf("containers %+v", p.Status.ContainerStatuses)
		}
		return nil
	})
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: names.PostgresClaim("shop")}}
	s.read(claim)
	before := claim.UID

	s.stopAndWait()
	s.settings.Images.Postgres = images.Postgres
	s.run()
	expect.Object(t, s.api, pod, func(p *corev1.Pod) error {
		if got := p.Spec.Containers[0].Image; got != images.Postgres || !ready(*p) {
			return fmt.Errorf("image %q, ready %t", got, ready(*p))
		}
		return nil
	})
	s.read(claim)
	if claim.UID != before {
		t.Errorf("volume claim %s was replaced by %s", before, claim.UID)
	}
}
