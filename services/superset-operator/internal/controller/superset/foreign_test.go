package superset_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// createForeign creates a foreign object with the name and the content of a rendered one. Its Deployments and Jobs have no
// pods: a pod with the labels of the components would block the tasks.
func (e *env) createForeign(obj client.Object) {
	e.t.Helper()
	switch o := obj.(type) {
	case *appsv1.Deployment:
		o.Spec.Replicas = new(int32(0))
	case *batchv1.Job:
		o.Spec.Suspend = new(true)
	}
	if err := e.client.Create(e.t.Context(), obj); err != nil {
		e.t.Fatalf("%T %s: %v", obj, obj.GetName(), err)
	}
	if d, ok := obj.(*appsv1.Deployment); ok { // until it is known to have no pods, it blocks the migration
		expect.Object(e.t, e.client, d.DeepCopy(), func(d *appsv1.Deployment) error {
			if !snapshot.Idle(d) {
				return fmt.Errorf("status %+v", d.Status)
			}
			return nil
		})
	}
}

// withoutParent removes the label that only the operator sets, so that an object has only the usual labels.
func (*env) withoutParent(obj client.Object) {
	labels := obj.GetLabels()
	delete(labels, v1alpha1.LabelParent)
	obj.SetLabels(labels)
}

// ownedByOther gives an object another controller.
func (e *env) ownedByOther(obj client.Object) {
	e.t.Helper()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "owner"}}
	if err := e.client.Create(e.t.Context(), owner); client.IgnoreAlreadyExists(err) != nil {
		e.t.Fatal(err)
	}
	if err := e.client.Get(e.t.Context(), client.ObjectKeyFromObject(owner), owner); err != nil {
		e.t.Fatal(err)
	}
	if err := controllerutil.SetControllerReference(owner, obj, e.client.Scheme()); err != nil {
		e.t.Fatal(err)
	}
}

// foreignObjectsAreReportedAndKept creates, for each kind, a foreign object with the name of a desired one: without a
// controller and with the usual labels, and with all labels and another controller. The object stays unchanged, and
// Degraded names it with the remedy. After the deletion of one without a controller the operator creates its own.
func foreignObjectsAreReportedAndKept(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	specs := map[string]func(*v1alpha1.Superset){}
	for _, edit := range []func(*v1alpha1.Superset){withIngress("a.example.org"), withGateway("a.example.org")} {
		for kind := range firstOfEachKind(t, everyKind(edit)(&env{t: t})) {
			specs[kind] = edit
		}
	}
	for kind, edit := range specs {
		for name, change := range map[string]func(*env, client.Object){
			"without a controller": func(e *env, obj client.Object) { e.withoutParent(obj) },
			"of another owner":     (*env).ownedByOther,
		} {
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				e := start(t, options{cluster: c})
				sup := everyKind(edit)(e)
				foreign := firstOfEachKind(t, sup)[kind]
				change(e, foreign)
				ofPage := strings.HasSuffix(kind, "page")
				if ofPage { // it exists only during a drain
					e.waitFor(e.create(sup), settled)
				}
				e.createForeign(foreign)
				if ofPage {
					e.edit(sup, image("6.1.0"))
				} else {
					e.create(sup)
				}
				e.checkReportedAndKept(sup, foreign, strings.Fields(kind)[0])
				if metav1.GetControllerOf(foreign) != nil {
					return // its deletion has the same effect
				}
				if err := e.client.Delete(t.Context(), foreign, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
					t.Fatal(err)
				}
				e.waitFor(sup, settled)
			})
		}
	}
}

// checkReportedAndKept waits until the conditions report a foreign object, and checks that it was not written.
func (e *env) checkReportedAndKept(sup *v1alpha1.Superset, foreign client.Object, kind string) {
	e.t.Helper()
	e.waitFor(sup, all(phase(v1alpha1.PhaseBlocked), stalled("NotOwned", metav1.ConditionTrue)))
	text := message(sup, "Degraded")
	named := strings.Contains(strings.ToLower(text), strings.ToLower(kind)+" ") && strings.Contains(text, foreign.GetName())
	if !named || !strings.HasSuffix(text, ". Delete or rename the object.") {
		e.t.Errorf("message of Degraded: %q", text)
	}
	expect.Unwritten(e.t, e.client, foreign)
}

// foreignObjectsStayUnchanged creates a foreign object of each kind that no desired object has the name of. All stay
// unchanged while the components are installed, drained for an upgrade, stopped and deleted.
func foreignObjectsStayUnchanged(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	for name, change := range map[string]func(*env, client.Object){
		"without a controller": func(*env, client.Object) {},
		"of another owner":     (*env).ownedByOther,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := start(t, options{cluster: c})
			sup := minimal(func(s *v1alpha1.Superset) {
				s.Spec.ServiceAccount = &v1alpha1.ServiceAccountSpec{Create: new(false), Name: "default"}
			})(e)
			foreign := map[string]client.Object{}
			for _, edit := range []func(*v1alpha1.Superset){withIngress("a.example.org"), withGateway("a.example.org")} {
				larger := everyKind(edit, func(s *v1alpha1.Superset) {
					s.Spec.CeleryFlower, s.Spec.Lifecycle.Rotate = &v1alpha1.CeleryFlowerSpec{}, &v1alpha1.RotateTaskSpec{}
				})(e)
				maps.Copy(foreign, firstOfEachKind(t, larger, renderedObjects(t, sup)...))
			}
			for kind := range firstOfEachKind(t, everyKind()(e)) {
				if foreign[kind] == nil {
					t.Errorf("no foreign %s", kind)
				}
			}
			for _, obj := range foreign {
				change(e, obj)
				e.createForeign(obj)
			}
			unchanged := func(when string) {
				t.Helper()
				for kind, obj := range foreign {
					if expect.Unwritten(t, e.client, obj); t.Failed() {
						t.Fatalf("%s: %s", when, kind)
					}
				}
			}
			e.waitFor(e.create(sup), settled)
			unchanged("installed")
			e.edit(sup, image("6.1.0"))
			e.waitFor(sup, all(settled, func(s *v1alpha1.Superset) error {
				if s.Status.DeployedVersion != "6.1.0" {
					return fmt.Errorf("not upgraded: %s", text(s))
				}
				return nil
			}))
			unchanged("upgraded")
			e.edit(sup, annotate(v1alpha1.AnnotationCommand, v1alpha1.CommandStopped))
			e.waitFor(sup, phase(v1alpha1.PhaseStopped))
			unchanged("stopped")
			web := get(e, "lab-web-server", &appsv1.Deployment{})
			if err := e.client.Delete(t.Context(), sup); err != nil {
				t.Fatal(err)
			}
			expect.Deleted(t, e.client, web)
			unchanged("deleted")
		})
	}
}

// TestForeignObjectsAreReportedTogether checks that the message names each of two foreign objects, before the remedy.
func TestForeignObjectsAreReportedTogether(t *testing.T) {
	t.Parallel()
	e := start(t, options{})
	sup := e.sample("development.yaml", withIngress("a.example.org"))
	foreign := firstOfEachKind(t, sup)
	for _, kind := range []string{"Service", "Ingress"} {
		e.withoutParent(foreign[kind])
		e.createForeign(foreign[kind])
	}
	e.create(sup)
	e.waitFor(sup, all(phase(v1alpha1.PhaseBlocked), stalled("NotOwned", metav1.ConditionTrue)))
	const notOwned = ": object exists and is not controlled by the owner: it has no controller"
	want := fmt.Sprintf("Foreign objects block the reconcile: webServer: apply Service %[1]s/development-web-server%[2]s; "+
		"networking: apply Ingress %[1]s/development%[2]s. Delete or rename the objects.", e.namespace, notOwned)
	if got := message(sup, "Degraded"); got != want {
		t.Errorf("message of Degraded:\n%s\nwant\n%s", got, want)
	}
	for _, kind := range []string{"Service", "Ingress"} {
		expect.Unwritten(t, e.client, foreign[kind])
	}
}
