package observation

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/credentials"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/validation"
)

var (
	errInvalid = apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, "x", nil)
	errForeign = fmt.Errorf("apply Service x: %w: it has no controller", apply.ErrNotOwned)
	errQuota   = apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "x", errors.New("exceeded quota: services=3"))
)

// overriding returns a template that sets the command of a container, which the operator manages.
func overriding(container string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: container, Command: []string{"sh"}}}}}
}

// available returns a component whose pods are as many as its Deployment reports.
func available(c status.Component) status.Component {
	s := &c.Deployment.Status
	s.UpdatedReplicas, s.AvailableReplicas = s.ReadyReplicas, s.ReadyReplicas
	c.Deployment.Spec.Replicas = &c.Replicas
	return c
}

func failing(f status.Failure) status.Component {
	c := available(availableComponent())
	c.Failure = &f
	return c
}

func instanceReasons() []reasonRow {
	row := func(name, on string, metadata, gateway status.Component, change func(*status.Instance), six, remedy string) reasonRow {
		i := instanceWith(metadata, gateway)
		i.Object.Status.ObservedGeneration = 3
		i.Object.Spec.Metadata.Postgres = &v1alpha1.PostgresSpec{}
		if change != nil {
			change(&i)
		}
		i.Object.Status = i.Next(testTime)
		return reasonRow{name: name, on: on, six: six, remedy: remedy, own: i.Object.Status.Conditions, observation: ForInstance(i, nil)}
	}
	applied := func(i *status.Instance) { i.Applied = true }
	ok, starting := available(availableComponent()), available(unreadyAs(""))
	metadata := func(name string, f status.Failure, six, remedy string) reasonRow {
		return row(name, "MetadataReady=False", failing(f), ok, nil, six, remedy)
	}
	stopped := status.Component{Desired: true, Deployment: &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: new(int32)}}}
	scalingDown := *stopped.Deployment.DeepCopy()
	scalingDown.Status.Replicas = 1
	stop := func(i *status.Instance) {
		applied(i)
		i.Object.Annotations = map[string]string{v1alpha1.AnnotationCommand: v1alpha1.CommandStopped}
	}
	external, own := &v1alpha1.FireboltInstance{}, &v1alpha1.FireboltInstance{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	external.Spec.Metadata.Postgres = &v1alpha1.PostgresSpec{CredentialsSecretRef: corev1.LocalObjectReference{Name: "db"}}
	rejected, unsupported := own.DeepCopy(), own.DeepCopy()
	rejected.Spec.Gateway.Template = overriding("envoy")
	unsupported.Spec.Auth = &v1alpha1.AuthSpec{Enabled: true}

	const correct, rename = "Correct the instance.", "Delete or rename the conflicting object."
	const transient, missing = "TTTFFF SpecNotObserved ReconcileError", "TFTFFF PostgresSecretPreflightFailed PostgresSecretPreflightFailed"
	created := row("Provisioning, the database's pod cannot be created", "MetadataReady=False", starting, ok, func(i *status.Instance) {
		applied(i)
		i.Object.Spec.Metadata.Postgres = nil
		i.Database, i.DatabaseReplicas = &appsv1.StatefulSet{}, 1
		i.DatabaseFailure = "forbidden: exceeded quota"
	}, "FTTFFF RollingOut CreateFailed", "")
	created.cause = "postgres: pods cannot be created: forbidden: exceeded quota"
	quota := metadata("EnsureFailed, transient", status.NewApplyFailure(v1alpha1.ReasonEnsureFailed, errQuota), transient, "")
	quota.cause = "exceeded quota: services=3"
	return []reasonRow{
		row("AllComponentsReady", "Ready=True", ok, ok, applied, "TFFTFF AsExpected AsExpected", ""),
		row("Ready", "MetadataReady=True", ok, starting, applied, "FTFFFF RollingOut AsExpected", ""),
		row("Initializing", "Ready=False", status.Component{Replicas: 1}, status.Component{Replicas: 1}, nil, "FTFFFF SpecNotObserved AsExpected", ""),
		row("Provisioning", "MetadataReady=False", starting, ok, applied, "FTFFFF RollingOut AsExpected", ""),
		row("ProbeFailed", "GatewayReady=False", ok, available(unreadyAs("NewReplicaSetAvailable")), applied, "FTFFFF RollingOut AsExpected", ""),
		row("NotSupported", "Ready=False", ok, ok, func(i *status.Instance) {
			i.Failure = new(status.NewUnsupported(validation.Message(validation.InstanceUnsupported(unsupported))))
		}, "TFTFFF NotSupported NotSupported", correct),
		row("TemplateRejected", "GatewayReady=False", ok, failing(status.NewRejection(validation.Message(validation.InstanceGateway(rejected)))), nil,
			"TFTFFF TemplateRejected TemplateRejected", correct),
		quota,
		metadata("EnsureFailed, invalid", status.NewApplyFailure(v1alpha1.ReasonEnsureFailed, errInvalid), "TFTFFF EnsureFailed EnsureFailed", correct),
		metadata("EnsureFailed, a name is taken", status.NewApplyFailure(v1alpha1.ReasonEnsureFailed, errForeign), "TFTFFF EnsureFailed EnsureFailed", rename),
		metadata("PostgresEnsureFailed, transient", status.NewApplyFailure(v1alpha1.ReasonPostgresEnsureFailed, errQuota), transient, ""),
		metadata("PostgresEnsureFailed, invalid", status.NewApplyFailure(v1alpha1.ReasonPostgresEnsureFailed, errInvalid),
			"TFTFFF PostgresEnsureFailed PostgresEnsureFailed", correct),
		metadata("PostgresEnsureFailed, a name is taken", status.NewApplyFailure(v1alpha1.ReasonPostgresEnsureFailed, errForeign),
			"TFTFFF PostgresEnsureFailed PostgresEnsureFailed", rename),
		metadata("PostgresSecretPreflightFailed", status.NewCredentialsMissing(credentials.Missing(external, nil)), missing, "Create it."),
		metadata("PostgresSecretPreflightFailed, incomplete", status.NewCredentialsMissing(credentials.Missing(own, &corev1.Secret{})), missing, "Add the key."),
		metadata("PostgresCredentialsLost", status.NewCredentialsLost("db"), "TFTFFF PostgresCredentialsLost PostgresCredentialsLost", "Restore the Secret."),
		created,
		row("DeletionBlocked", "Ready=False", ok, ok, func(i *status.Instance) {
			applied(i)
			i.Failure = new(status.NewDeletionBlocked([]string{"a"}))
			i.Object.DeletionTimestamp = &metav1.Time{}
		}, "TTFFFF Deleting AsExpected", "Delete the engine."),
		row("Stopping", "MetadataReady=False", status.Component{Desired: true, Deployment: &scalingDown}, stopped, stop, "FTFFFF Stopping Stopped", ""),
		row("Stopped", "MetadataReady=False", stopped, stopped, stop, "FFFFFT AsExpected Stopped", ""),
	}
}

// classReasons is the table of a class, which has none of the six conditions.
func classReasons() []reasonRow {
	row := func(name, on, remedy string, change func(*status.Class)) reasonRow {
		c := status.Class{Object: &v1alpha1.FireboltEngineClass{ObjectMeta: metav1.ObjectMeta{Name: "big", Generation: 4}}}
		change(&c)
		return reasonRow{name: name, on: on, remedy: remedy, own: c.Next(testTime).Conditions}
	}
	rejected, unsupported := &v1alpha1.FireboltEngineClass{}, &v1alpha1.FireboltEngineClass{}
	rejected.Spec.Template = *overriding("engine")
	unsupported.Spec.AutoStop = &v1alpha1.AutoStopSpec{Enabled: true}
	deleted := func(engines ...string) func(*status.Class) {
		return func(c *status.Class) { c.Engines, c.Object.DeletionTimestamp = engines, &metav1.Time{} }
	}
	return []reasonRow{
		row("Admissible", "Ready=True", "", func(*status.Class) {}),
		row("OperatorOwnedFieldSet", "Ready=False", "Correct the class.", func(c *status.Class) { c.Rejected = validation.Message(validation.Class(rejected)) }),
		row("NotSupported", "Ready=False", "Correct the class.", func(c *status.Class) {
			c.Unsupported = validation.Message(validation.ClassUnsupported(unsupported))
		}),
		row("DeletionBlocked", "Ready=False", "Delete the engine, or change its class.", deleted("a")),
		row("DeletionBlocked, by several engines", "Ready=False", "Delete the engines, or change their class.", deleted("a", "b")),
	}
}
