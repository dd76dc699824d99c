package observation

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/credentials"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/validation"
)

// serving returns an engine of generation 4 whose generation g1 serves with all its pods, as
// generation 3 of its spec requested.
func serving(change func(*status.Engine)) (status.Engine, observe.Children) {
	object := &v1alpha1.FireboltEngine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "e", UID: "u", Generation: 4},
		Spec:       v1alpha1.FireboltEngineSpec{InstanceRef: "shop", Replicas: 2, EngineClassRef: new("class")},
		Status:     v1alpha1.FireboltEngineStatus{Phase: v1alpha1.PhaseStable, CurrentGeneration: 1, ActiveGeneration: 1, ObservedGeneration: 3},
	}
	e := status.Engine{
		Object: object, Decided: true, InstanceChecked: true, PodsReady: 2, PodsTotal: 2, Replicas: 2,
		Plan: engine.Plan{Next: engine.State{Phase: v1alpha1.PhaseStable, Current: 1, Active: 1, Draining: engine.None, Allocated: 1}},
	}
	if change != nil {
		change(&e)
	}
	set := func(n int64, ready int32) *appsv1.StatefulSet {
		replicas := e.Replicas
		return &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Name: names.Generation("e", n)},
			Spec:       appsv1.StatefulSetSpec{Replicas: new(replicas)},
			Status:     appsv1.StatefulSetStatus{Replicas: ready, ReadyReplicas: ready, AvailableReplicas: ready, UpdatedReplicas: ready},
		}
	}
	next := e.Plan.Next
	c := observe.Children{StatefulSets: map[int64]*appsv1.StatefulSet{}}
	for _, n := range slices.DeleteFunc([]int64{next.Current, next.Draining}, func(n int64) bool { return n == engine.None }) {
		c.StatefulSets[n] = set(n, 0)
	}
	c.StatefulSets[1] = set(1, e.PodsReady)
	if next.Active != engine.None {
		c.StatefulSets[next.Active] = set(next.Active, e.PodsReady)
		c.Cluster = &corev1.Service{Spec: corev1.ServiceSpec{Selector: names.GenerationLabels("e", next.Active)}}
	}
	return e, c
}

func rolling(e *status.Engine) {
	e.Plan.Next = engine.State{Phase: v1alpha1.PhaseCreating, Current: 2, Active: 1, Draining: engine.None, Allocated: 2}
}

func draining(e *status.Engine) {
	e.Plan.Next = engine.State{Phase: v1alpha1.PhaseDraining, Current: 2, Active: 2, Draining: 1, Allocated: 2}
}

func unobserved(e *status.Engine) {
	e.Object.Status = v1alpha1.FireboltEngineStatus{}
	e.Plan.Next = engine.State{Current: 0, Active: engine.None, Draining: engine.None}
	e.PodsReady = 0
}

func command(c string) func(*status.Engine) {
	return func(e *status.Engine) { e.Object.Annotations = map[string]string{v1alpha1.AnnotationCommand: c} }
}

// noPod returns the warning of a StatefulSet whose pods a quota rejects.
func noPod(generation int64) status.Warning {
	set := names.Generation("e", generation)
	w := status.WarningOf(set, []corev1.Event{{
		Reason: "FailedCreate", Count: 4,
		Message: "create Pod " + set + "-0 in StatefulSet " + set + ` failed error: pods "` + set + `-0" is forbidden: exceeded quota: pods=3`,
	}})
	w.Generation = generation
	return w
}

// with applies changes in order.
func with(changes ...func(*status.Engine)) func(*status.Engine) {
	return func(e *status.Engine) {
		for _, change := range changes {
			change(e)
		}
	}
}

// engineRow computes a row. applied is true if the latest spec is that of the current generation.
func engineRow(name, on string, applied bool, failure error, six, remedy string, changes ...func(*status.Engine)) reasonRow {
	e, c := serving(with(changes...))
	if failure != nil {
		e.Decided, e.Warning = false, status.ApplyWarning(failure)
	}
	o := ForEngine(e, c, applied, failure, time.Time{})
	return reasonRow{name: name, on: on, six: six, remedy: remedy, own: e.Next(testTime).Conditions, observation: o}
}

// onlyDegraded marks a row whose remedy only Degraded has.
func onlyDegraded(r reasonRow) reasonRow {
	r.unaffected = true
	return r
}

func caused(cause string, r reasonRow) reasonRow {
	r.cause = cause
	return r
}

func engineReasons() []reasonRow {
	const calm, quota = "TFFTFF AsExpected AsExpected", ": pods cannot be created: forbidden: exceeded quota: pods=3"
	noPods := func(e *status.Engine) { e.PodsReady = 0 }
	overdue := func(e *status.Engine) { e.Overdue = true }
	out := []reasonRow{
		engineRow("EngineReady", "Ready=True", true, nil, calm, ""),
		engineRow("EngineReady, waiting for a slot", "Ready=True", false, nil, "TFFFFF RolloutThrottled AsExpected", "", func(e *status.Engine) { e.Plan.Waiting = true }),
		onlyDegraded(engineRow("EngineReady, repairs are rejected", "Ready=True", false, errInvalid, "TFTFFF ApplyRefused ApplyRefused",
			"Correct the engine or its class.")),
		engineRow("InstanceReady", "InstanceReady=True", true, nil, calm, ""),
		engineRow("OnTime", "RolloutOverdue=False", true, nil, calm, ""),
		engineRow("NotRolledBack", "RolledBack=False", true, nil, calm, ""),
		engineRow("ProgressDeadlineExceeded, rolled back", "RolledBack=True", false, nil, "TFTFFF RolledBack RolledBack",
			"Change the engine or its class to try again.", func(e *status.Engine) { e.Plan.Next.Rejected = "bad" }),
		engineRow("ProgressDeadlineExceeded", "RolloutOverdue=True", true, nil, "TFTFFF Stalled Stalled",
			"Repair its pods, or change the engine or its class.", rolling, overdue),
		engineRow("DrainTimeoutExceeded", "RolloutOverdue=True", true, nil, "TTFFFF RollingOut AsExpected", "", draining, func(e *status.Engine) { e.Expired = true }),
		engineRow("Initializing", "Ready=False", false, nil, "FTUFFF SpecNotObserved SpecNotObserved", "", unobserved),
		engineRow("Initializing, paused from creation", "Ready=False", false, nil, "FFFFTF ReconciliationPaused ReconciliationPaused", "",
			unobserved, command(v1alpha1.CommandPaused)),
		engineRow("Stopped", "Ready=False", true, nil, "FFFFFT AsExpected Stopped", "", command(v1alpha1.CommandStopped), func(e *status.Engine) {
			e.Plan.Next.Phase, e.PodsReady, e.PodsTotal = v1alpha1.PhaseStopped, 0, 0
			e.Replicas = 0
		}),
		engineRow("DrainCheckFailing", "Ready=False", true, nil, "TTFFFF RollingOut AsExpected",
			"Repair its pods, or end the drain with spec.drainTimeout or spec.rollout: recreate.", draining,
			func(e *status.Engine) { e.DrainError = status.DrainFailed(1, "no answer") }),
		engineRow("Rolling", "Ready=False", false, nil, "TTFFFF SpecNotObserved AsExpected", "", rolling),
		caused("g2"+quota, engineRow("FailedCreate", "Ready=False", true, nil, "TFTFFF Stalled CreateFailed", "", rolling,
			func(e *status.Engine) { e.Warning = noPod(2) })),
		engineRow("Rolling, what serves has lost its pods", "Ready=False", true, nil, "FTTFFF RollingOut InsufficientReplicas", "", rolling, noPods),
		caused("g1"+quota, engineRow("FailedCreate, of what serves", "Ready=False", true, nil, "FTTFFF RollingOut CreateFailed", "", rolling, noPods,
			func(e *status.Engine) { e.Warning = noPod(1) })),
		engineRow("PodsNotReady", "Ready=False", true, nil, "FTFFFF RollingOut AsExpected", "", func(e *status.Engine) { e.PodsReady = 1 }),
		engineRow("ApplyRefused, invalid", "Ready=False", false, errInvalid, "TFTFFF ApplyRefused ApplyRefused", "Correct the engine or its class.", rolling),
		engineRow("ApplyRefused, a name is taken", "Ready=False", false, errForeign, "TFTFFF ApplyRefused ApplyRefused",
			"Delete or rename the conflicting object.", rolling),
		caused("exceeded quota: services=3", engineRow("ApplyRefused, transient", "Ready=False", false, errQuota, "TTTFFF SpecNotObserved ReconcileError", "", rolling)),
	}
	return slices.Concat(out, rejectedEngines(), heldEngines())
}

// rejectedEngines has the rows of a spec that cannot be rolled out, while another generation serves.
func rejectedEngines() []reasonRow {
	const correct = "Correct the engine or its class."
	bad := &v1alpha1.FireboltEngine{Spec: v1alpha1.FireboltEngineSpec{
		Template: overriding("engine"), AutoStop: &v1alpha1.AutoStopSpec{Enabled: true},
	}}
	bad.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("9")}
	class := &v1alpha1.FireboltEngineClass{ObjectMeta: metav1.ObjectMeta{Name: "class"}}
	class.Spec.Template = *overriding("engine")
	unsupported, external := &v1alpha1.FireboltInstance{}, &v1alpha1.FireboltInstance{}
	unsupported.Spec.Auth = &v1alpha1.AuthSpec{Enabled: true}
	external.Spec.Metadata.Postgres = &v1alpha1.PostgresSpec{CredentialsSecretRef: corev1.LocalObjectReference{Name: "db"}}

	row := func(name, remedy string, change func(*status.Engine)) reasonRow {
		return engineRow(name, "Ready=False", false, nil, "", remedy, change)
	}
	out := []reasonRow{
		row("FireboltEngineClassUnready", "Create it, or change spec.engineClassRef.", func(e *status.Engine) { e.Class = status.ClassNotFound("class") }),
		row("FireboltEngineClassUnready, invalid", "Correct the class.", func(e *status.Engine) {
			e.Class = status.ClassRejected("class", validation.Message(validation.Class(class)))
		}),
		row("NotSupported", correct, func(e *status.Engine) { e.Unsupported = validation.Message(validation.EngineUnsupported(bad, nil)) }),
		row("TemplateRejected", correct, func(e *status.Engine) { e.Rejected = validation.Message(validation.EngineTemplate(bad, nil)) }),
		row("ResourceBoundsExceeded", correct, func(e *status.Engine) {
			e.Bounds = validation.Message(validation.EngineBounds(bad, nil, validation.Bounds{CPU: new(resource.MustParse("8"))}))
		}),
	}
	for i, r := range out {
		out[i].six = "TFTFFF " + r.reason() + " " + r.reason()
	}
	instance := func(name, remedy, message string) reasonRow {
		return engineRow(name, "Ready=False", true, nil, "TFTFFF AsExpected DependencyUnavailable", remedy,
			func(e *status.Engine) { e.InstanceError = message })
	}
	return append(out,
		instance("InstanceNotReady", "Create it, or change spec.instanceRef.", status.InstanceNotFound("shop")),
		instance("InstanceNotReady, unsupported", "Correct the instance.",
			status.InstanceRejected("shop", validation.Message(validation.InstanceUnsupported(unsupported)))),
		instance("InstanceNotReady, without credentials", "Create it.", status.InstanceUnusable("shop", credentials.Missing(external, nil))),
	)
}

// heldEngines has the rows of objects that foreign finalizers hold.
func heldEngines() []reasonRow {
	deleted := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"example.com/hold"}, DeletionTimestamp: &metav1.Time{}}}
	finalizers := observe.Children{Cluster: deleted}.ServiceFinalizers()
	held := func(e *status.Engine) { e.Service = status.ServiceHeld("e-service", finalizers) }
	const release = "Remove the finalizers; the operator then creates the Service again."
	return []reasonRow{
		engineRow("ExternalFinalizer", "Ready=False", false, nil, "TTFFFF Deleting AsExpected", "Remove the finalizers of those objects.", func(e *status.Engine) {
			e.ForeignFinalizers = status.ChildrenHeld([]string{"StatefulSet e-g1"})
			e.Object.DeletionTimestamp = &metav1.Time{}
		}),
		engineRow("ExternalFinalizer, the Service", "Ready=False", true, nil, "TFTFFF AsExpected DependencyUnavailable", release, held),
		onlyDegraded(engineRow("Rolling, a finalizer holds the Service", "Ready=False", false, nil, "TTTFFF SpecNotObserved DependencyUnavailable", release,
			rolling, held)),
	}
}
