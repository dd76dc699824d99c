package superset_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

func TestMaintenancePageStartFailureDelaysDrain(t *testing.T) {
	for name, repaired := range map[string]*v1alpha1.MaintenancePageSpec{
		"until its image is corrected": {}, "until it is disabled": {Replicas: new(int32(0))},
	} {
		t.Run(name, func(t *testing.T) { checkPageStartFailure(t, repaired) })
	}
}

func checkPageStartFailure(t *testing.T, repaired *v1alpha1.MaintenancePageSpec) {
	t.Helper()
	l := newParallelEnv(t, options{})
	sup := l.createRunning(celery(func(s *v1alpha1.Superset) {
		s.Spec.Lifecycle.MaintenancePage = &v1alpha1.MaintenancePageSpec{
			Image: &v1alpha1.ContainerImageSpec{Repository: "missing/page", Tag: "1"},
		}
	}))
	pods, start := l.pods(), l.editAndGetRevision(sup, image("6.1.0"))
	l.waitFor(sup, all(lifecyclePhase(v1alpha1.LifecycleDraining), func(s *v1alpha1.Superset) error {
		if text := message(s, "LifecycleComplete"); !strings.Contains(text, "ImagePullBackOff") {
			return fmt.Errorf("condition %s", text)
		}
		return nil
	}))
	l.checkNotDrained(start)
	for _, p := range pods {
		if !strings.Contains(strings.Join(l.pods(), "\n"), p) {
			t.Errorf("%s was deleted", p)
		}
	}
	l.edit(sup, func(s *v1alpha1.Superset) { s.Spec.Lifecycle.MaintenancePage = repaired })
	l.waitFor(sup, settled)
	l.history.checkTasks("migrate")
}

// checkNotDrained checks for some time that no task except the preflight starts and the web server is not deleted.
func (l *recordedEnv) checkNotDrained(since int64) {
	l.t.Helper()
	expect.Never(l.t, 500*time.Millisecond, func() error {
		if started := withoutPreflight(l.history.tasks(since)); len(started) > 0 {
			return fmt.Errorf("%v ran", started)
		}
		for _, v := range versions[*appsv1.Deployment](l.history, since, "lab-web-server") {
			if v.deleted {
				return fmt.Errorf("the web server was deleted")
			}
		}
		return nil
	})
}
