package superset_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

func supervised(s *v1alpha1.Superset) { s.Spec.Lifecycle.UpgradeMode = new(v1alpha1.UpgradeSupervised) }

// waitAwaitingApproval checks the state of a change that waits for its approval, and returns the token.
func (l *recordedEnv) waitAwaitingApproval(sup *v1alpha1.Superset, to string) string {
	l.t.Helper()
	l.waitFor(sup, all(phase(v1alpha1.PhaseAwaitingApproval), lifecyclePhase(v1alpha1.LifecycleAwaitingApproval),
		condition("LifecycleComplete", metav1.ConditionFalse, "AwaitingApproval"),
		func(s *v1alpha1.Superset) error {
			if u := s.Status.Lifecycle.Upgrade; u == nil || u.ToVersion != to {
				return fmt.Errorf("upgrade %+v", u)
			}
			return nil
		}))
	u := sup.Status.Lifecycle.Upgrade
	if !strings.HasPrefix(u.ApprovalToken, "sha256:") || len(u.ApprovalToken) != len("sha256:")+64 || u.StartedAt == nil {
		l.t.Errorf("upgrade %+v", u)
	}
	if text := message(sup, "LifecycleComplete"); !strings.Contains(text, v1alpha1.AnnotationApproveUpgrade) || !strings.Contains(text, u.ApprovalToken) {
		l.t.Errorf("the message lacks the annotation or the token of the approval: %s", text)
	}
	return u.ApprovalToken
}

func TestSupervisedUpgradeWaitsForOwnToken(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(minimal(supervised))
	start := l.editAndGetRevision(sup, image("6.1.0"))
	first := l.waitAwaitingApproval(sup, "6.1.0")
	if u := sup.Status.Lifecycle.Upgrade; u.FromVersion != "6.0.0" || u.Direction != v1alpha1.DirectionUpgrade {
		t.Errorf("upgrade %+v", u)
	}
	l.checkNoTaskWithoutApproval(sup, start)

	l.edit(sup, annotate(v1alpha1.AnnotationApproveUpgrade, "sha256:"+strings.Repeat("0", 64)))
	l.checkNoTaskWithoutApproval(sup, start)

	// Another target is another change, so the first token is no longer valid.
	l.edit(sup, image("6.2.0"))
	second := l.waitAwaitingApproval(sup, "6.2.0")
	if first == second {
		t.Error("two changes have the same token")
	}
	l.edit(sup, annotate(v1alpha1.AnnotationApproveUpgrade, first))
	l.checkNoTaskWithoutApproval(sup, start)

	l.edit(sup, annotate(v1alpha1.AnnotationApproveUpgrade, second))
	l.waitFor(sup, all(settled, func(s *v1alpha1.Superset) error {
		if s.Annotations[v1alpha1.AnnotationApproveUpgrade] != "" || s.Status.Lifecycle.Upgrade != nil {
			return fmt.Errorf("not removed: %v, %+v", s.Annotations, s.Status.Lifecycle.Upgrade)
		}
		return nil
	}))
	l.history.checkTasks("migrate")
	if diff := cmp.Diff([]string{"preflight apache/superset:6.2.0", "migrate apache/superset:6.2.0", "init apache/superset:6.2.0"}, l.history.tasks(start)); diff != "" {
		t.Errorf("tasks differ (-want +got):\n%s", diff)
	}

	// The approval was valid for one change: a revert to an approved version needs another one.
	l.edit(sup, image("6.3.0"))
	l.waitAwaitingApproval(sup, "6.3.0")
}

// checkNoTaskWithoutApproval checks for some time that no task starts.
func (l *recordedEnv) checkNoTaskWithoutApproval(sup *v1alpha1.Superset, since int64) {
	l.t.Helper()
	expect.Never(l.t, 500*time.Millisecond, func() error {
		if started := l.history.tasks(since); len(started) > 0 {
			return fmt.Errorf("%v ran without an approval", started)
		}
		return nil
	})
	l.waitFor(sup, func(*v1alpha1.Superset) error { return nil })
	if sup.Status.Phase != v1alpha1.PhaseAwaitingApproval && sup.Status.Phase != v1alpha1.PhaseBlocked {
		l.t.Errorf("phase %s", sup.Status.Phase)
	}
}

// TestAwaitingApprovalKeepsPullSettings moves the image to a registry with other credentials and edits the configuration:
// the pods of the current image still pull it with theirs.
func TestAwaitingApprovalKeepsPullSettings(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(minimal(supervised, func(s *v1alpha1.Superset) {
		s.Spec.Image.PullSecrets = []corev1.LocalObjectReference{{Name: "former"}}
	}))
	before := l.deployment("web-server").Generation
	l.edit(sup, func(s *v1alpha1.Superset) {
		s.Spec.Image = v1alpha1.ImageSpec{
			Repository: "registry.example.org/superset", Tag: "6.1.0", PullPolicy: corev1.PullAlways,
			PullSecrets: []corev1.LocalObjectReference{{Name: "next"}},
		}
		s.Spec.WebServer.Config = new("NEW = 1")
	})
	token := l.waitAwaitingApproval(sup, "6.1.0")
	pulls := func(image string, policy corev1.PullPolicy, secret string) func(*appsv1.Deployment) error {
		return func(d *appsv1.Deployment) error {
			pod := &d.Spec.Template.Spec
			main := snapshot.Main(pod)
			want := []corev1.LocalObjectReference{{Name: secret}}
			if main.Image != image || main.ImagePullPolicy != policy || !cmp.Equal(pod.ImagePullSecrets, want) {
				return fmt.Errorf("%s, %s, %v", main.Image, main.ImagePullPolicy, pod.ImagePullSecrets)
			}
			return nil
		}
	}
	l.waitRolledOut("web-server", func(d *appsv1.Deployment) error {
		if d.Generation == before {
			return errors.New("the Deployment does not have the configuration yet")
		}
		return nil
	})
	l.waitRolledOut("web-server", pulls("apache/superset:6.0.0", corev1.PullIfNotPresent, "former"))

	l.edit(sup, annotate(v1alpha1.AnnotationApproveUpgrade, token))
	l.waitFor(sup, settled)
	l.waitRolledOut("web-server", pulls("registry.example.org/superset:6.1.0", corev1.PullAlways, "next"))
}

// TestW18AwaitingApprovalAllowsOtherChanges changes the configuration and the Ingress of the running version while an
// upgrade waits for approval.
func TestW18AwaitingApprovalAllowsOtherChanges(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		to   string
		want v1alpha1.Phase
	}{
		"awaiting approval": {to: "6.1.0", want: v1alpha1.PhaseAwaitingApproval},
		"blocked downgrade": {to: "5.0.0", want: v1alpha1.PhaseBlocked},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newParallelEnv(t, options{})
			sup := l.createRunning(full(supervised))
			start := l.editAndGetRevision(sup, image(tc.to))
			l.waitFor(sup, phase(tc.want))
			l.waitFor(sup, condition("Available", metav1.ConditionTrue, "AllComponentsReady"))

			l.edit(sup, func(s *v1alpha1.Superset) {
				s.Spec.WebServer.Replicas = new(int32(3))
				s.Spec.WebServer.Config = new("NEW = 1")
				s.Spec.Networking.Ingress.Host = "other.example.org"
				s.Spec.CeleryFlower = nil
			})
			l.waitRolledOut("web-server", func(d *appsv1.Deployment) error {
				if d.Status.ReadyReplicas != 3 || runningImage(d) != "apache/superset:6.0.0" {
					return fmt.Errorf("%d of %s", d.Status.ReadyReplicas, runningImage(d))
				}
				return nil
			})
			l.waitFor(sup, func(*v1alpha1.Superset) error {
				config := get(l.env, "lab-web-server-config", configMap()).Data["superset_config.py"]
				host := get(l.env, "lab", ingress()).Spec.Rules[0].Host
				if !strings.Contains(config, "NEW = 1") || host != "other.example.org" {
					return fmt.Errorf("the Ingress has host %s, the configuration is %s", host, config)
				}
				return nil
			})
			expect.Deleted(t, l.client, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "lab-celery-flower"}})
			l.waitFor(sup, phase(tc.want))
			l.checkNoTaskWithoutApproval(sup, start)
		})
	}
}

func TestDowngradeIsBlockedUntilRevertedOrApproved(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(minimal(image("6.1.0")))
	pods := l.pods()
	blocked := func() string {
		l.waitFor(sup, all(phase(v1alpha1.PhaseBlocked), lifecyclePhase(v1alpha1.LifecycleBlocked),
			condition("LifecycleComplete", metav1.ConditionFalse, "DowngradeBlocked"), stalled("DowngradeBlocked", metav1.ConditionTrue),
			condition("Available", metav1.ConditionTrue, "AllComponentsReady")))
		u := sup.Status.Lifecycle.Upgrade
		if u == nil || u.Direction != v1alpha1.DirectionDowngrade || u.FromVersion != "6.1.0" || u.ToVersion != "6.0.0" {
			t.Fatalf("upgrade %+v", u)
		}
		return u.ApprovalToken
	}
	start := l.editAndGetRevision(sup, image("6.0.0"))
	blocked()
	l.checkNoTaskWithoutApproval(sup, start)
	l.checkPodsUnchanged(pods)

	l.edit(sup, image("6.1.0"))
	l.waitFor(sup, all(settled, condition("LifecycleComplete", metav1.ConditionTrue, "LifecycleComplete")))
	if sup.Status.Lifecycle.Upgrade != nil || len(l.history.tasks(start)) > 0 {
		t.Errorf("after the revert: %+v, tasks %v", sup.Status.Lifecycle.Upgrade, l.history.tasks(start))
	}
	l.checkPodsUnchanged(pods)

	l.edit(sup, image("6.0.0"))
	token := blocked()
	l.edit(sup, annotate(v1alpha1.AnnotationApproveUpgrade, token))
	l.checkNoTaskWithoutApproval(sup, start)
	l.edit(sup, annotate(v1alpha1.AnnotationApproveDowngrade, token))
	l.waitFor(sup, all(settled, func(s *v1alpha1.Superset) error {
		if s.Annotations[v1alpha1.AnnotationApproveDowngrade] != "" || s.Status.LastLifecycleImage != "apache/superset:6.0.0" {
			return fmt.Errorf("annotations %v, image %s", s.Annotations, s.Status.LastLifecycleImage)
		}
		return nil
	}))
	l.history.checkTasks("migrate")
	if diff := cmp.Diff([]string{"preflight apache/superset:6.0.0", "migrate apache/superset:6.0.0", "init apache/superset:6.0.0"}, l.history.tasks(start)); diff != "" {
		t.Errorf("tasks differ (-want +got):\n%s", diff)
	}
	l.waitEvents(map[string]int{"Warning DowngradeBlocked": 2})
}

// TestW6W7OnlyComparableVersionsAreBlocked changes the tag in ways that are not a downgrade, and the registry alone.
func TestW6W7OnlyComparableVersionsAreBlocked(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		from string
		to   func(*v1alpha1.Superset)
	}{
		"a flavor of the same version": {from: "4.1.1", to: image("4.1.1-py311")},
		"an older date stamp":          {from: "20260701", to: image("20260615")},
		"another registry":             {from: "6.0.0", to: func(s *v1alpha1.Superset) { s.Spec.Image.Repository = "mirror.example.org/superset" }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newParallelEnv(t, options{})
			sup := l.createRunning(minimal(image(tc.from)))
			l.edit(sup, tc.to)
			want := sup.Spec.Image.Repository + ":" + sup.Spec.Image.Tag
			l.waitFor(sup, func(s *v1alpha1.Superset) error {
				if s.Status.Phase == v1alpha1.PhaseBlocked {
					t.Fatalf("blocked: %s", message(s, "LifecycleComplete"))
				}
				if s.Status.LastLifecycleImage != want {
					return fmt.Errorf("image %s", s.Status.LastLifecycleImage)
				}
				return settled(s)
			})
		})
	}
}
