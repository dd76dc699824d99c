package integration

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// TestDatabaseThatCannotStartIsUpdated corrects an image that cannot be pulled, which the instance reports. The volume stays.
func TestDatabaseThatCannotStartIsUpdated(t *testing.T) {
	t.Parallel()
	s := &testEnv{api: apiServer(t)}
	s.operator = start(t, cluster.Get(t).Namespace(t))
	s.stopAndWait()
	s.settings.Images.Postgres = "missing/postgres:16"
	s.run()
	s.volume("10Gi")
	i := &v1alpha1.FireboltInstance{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	s.create(i)
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
	expect.Object(t, s.api, i, func(i *v1alpha1.FireboltInstance) error {
		if c := meta.FindStatusCondition(i.Status.Conditions, "Degraded"); c == nil || c.Status != metav1.ConditionTrue || c.Reason != "ImagePull" {
			return fmt.Errorf("Degraded = %+v", c)
		}
		return checkMessages(i.Status.Conditions, "postgres: an image cannot be pulled.", "Degraded")
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
