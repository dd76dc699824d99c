package observation

import (
	"errors"
	"fmt"
	"slices"

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

// instanceRow returns the conditions of an instance with the given components.
func instanceRow(name, on string, metadata, gateway status.Component, change func(*status.Instance), six, remedy string) reasonRow {
	i := instanceWith(metadata, gateway)
	i.Object.Status.ObservedGeneration = 3
	i.Object.Spec.Metadata.Postgres = &v1alpha1.PostgresSpec{}
	if change != nil {
		change(&i)
	}
	i.Object.Status = i.Next(testTime)
	return reasonRow{name: name, on: on, six: six, remedy: remedy, own: i.Object.Status.Conditions, observation: ForInstance(i, nil, testTime)}
}

// metadataRow returns the conditions of an instance whose metadata service failed.
func metadataRow(name string, f status.Failure, six, remedy string) reasonRow {
	return instanceRow(name, "MetadataReady=False", failing(f), available(availableComponent()), nil, six, remedy)
}

func applied(i *status.Instance) { i.Applied = true }

func instanceReasons() []reasonRow {
	return slices.Concat(startReasons(), rejectionReasons(), metadataReasons(), stopReasons())
}

// startReasons returns the rows of an instance that starts or runs.
func startReasons() []reasonRow {
	ok, starting := available(availableComponent()), available(unreadyAs(""))
	created := instanceRow("Provisioning, the database's pod cannot be created", "MetadataReady=False", starting, ok, func(i *status.Instance) {
		applied(i)
		i.Object.Spec.Metadata.Postgres = nil
		i.Database, i.DatabaseReplicas = &appsv1.StatefulSet{}, 1
		i.DatabaseFailure = "forbidden: exceeded quota"
	}, "FTTFFF RollingOut CreateFailed", "")
	created.cause = "postgres: pods cannot be created: forbidden: exceeded quota"
	broken := instanceRow("Provisioning, the database's image cannot be pulled", "MetadataReady=False", starting, ok, func(i *status.Instance) {
		applied(i)
		i.Object.Spec.Metadata.Postgres = nil
		i.Database, i.DatabaseReplicas, i.DatabasePods = &appsv1.StatefulSet{}, 1, []corev1.Pod{podWaiting("ErrImagePull")}
	}, "FTTFFF RollingOut ImagePull", "")
	broken.cause = "postgres: an image cannot be pulled"
	return []reasonRow{
		instanceRow("AllComponentsReady", "Ready=True", ok, ok, applied, "TFFTFF AsExpected AsExpected", ""),
		instanceRow("Ready", "MetadataReady=True", ok, starting, applied, "FTFFFF RollingOut AsExpected", ""),
		instanceRow("Initializing", "Ready=False", status.Component{Replicas: 1}, status.Component{Replicas: 1}, nil, "FTFFFF SpecNotObserved AsExpected", ""),
		instanceRow("Provisioning", "MetadataReady=False", starting, ok, applied, "FTFFFF RollingOut AsExpected", ""),
		instanceRow("ProbeFailed", "GatewayReady=False", ok, available(unreadyAs("NewReplicaSetAvailable")), applied, "FTFFFF RollingOut AsExpected", ""),
		created, broken,
	}
}

// rejectionReasons returns the rows of a spec that violates a rule.
func rejectionReasons() []reasonRow {
	const correct = "Correct the instance."
	ok := available(availableComponent())
	rejected, unsupported := &v1alpha1.FireboltInstance{}, &v1alpha1.FireboltInstance{}
	rejected.Name, unsupported.Name = "shop", "shop"
	rejected.Spec.Gateway.Template = overriding("envoy")
	unsupported.Spec.Auth = &v1alpha1.AuthSpec{Enabled: true}
	return []reasonRow{
		instanceRow("NotSupported", "Ready=False", ok, ok, func(i *status.Instance) {
			i.Failure = new(status.NewUnsupported(validation.Message(validation.InstanceUnsupported(unsupported))))
		}, "TFTFFF NotSupported NotSupported", correct),
		instanceRow("TemplateRejected", "GatewayReady=False", ok, failing(status.NewRejection(validation.Message(validation.InstanceGateway(rejected)))), nil,
			"TFTFFF TemplateRejected TemplateRejected", correct),
	}
}

// metadataReasons returns the rows of objects and Secrets of the metadata service.
func metadataReasons() []reasonRow {
	const correct, rename = "Correct the instance.", "Delete or rename the conflicting object."
	const transient, missing = "TTTFFF SpecNotObserved ReconcileError", "TFTFFF PostgresSecretPreflightFailed PostgresSecretPreflightFailed"
	external, own := &v1alpha1.FireboltInstance{}, &v1alpha1.FireboltInstance{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	external.Spec.Metadata.Postgres = &v1alpha1.PostgresSpec{CredentialsSecretRef: corev1.LocalObjectReference{Name: "db"}}
	quota := metadataRow("EnsureFailed, transient", status.NewApplyFailure(v1alpha1.ReasonEnsureFailed, errQuota), transient, "")
	quota.cause = "exceeded quota: services=3"
	return []reasonRow{
		quota,
		metadataRow("EnsureFailed, invalid", status.NewApplyFailure(v1alpha1.ReasonEnsureFailed, errInvalid), "TFTFFF EnsureFailed EnsureFailed", correct),
		metadataRow("EnsureFailed, a name is taken", status.NewApplyFailure(v1alpha1.ReasonEnsureFailed, errForeign), "TFTFFF EnsureFailed EnsureFailed", rename),
		metadataRow("PostgresEnsureFailed, transient", status.NewApplyFailure(v1alpha1.ReasonPostgresEnsureFailed, errQuota), transient, ""),
		metadataRow("PostgresEnsureFailed, invalid", status.NewApplyFailure(v1alpha1.ReasonPostgresEnsureFailed, errInvalid),
			"TFTFFF PostgresEnsureFailed PostgresEnsureFailed", correct),
		metadataRow("PostgresEnsureFailed, a name is taken", status.NewApplyFailure(v1alpha1.ReasonPostgresEnsureFailed, errForeign),
			"TFTFFF PostgresEnsureFailed PostgresEnsureFailed", rename),
		metadataRow("PostgresSecretPreflightFailed", status.NewCredentialsMissing(credentials.Missing(external, nil)), missing, "Create it."),
		metadataRow("PostgresSecretPreflightFailed, incomplete", status.NewCredentialsMissing(credentials.Missing(own, &corev1.Secret{})), missing, "Add the key."),
		metadataRow("PostgresCredentialsLost", status.NewCredentialsLost("db"), "TFTFFF PostgresCredentialsLost PostgresCredentialsLost", "Restore the Secret."),
		metadataRow("InstanceIDMismatch", status.NewIDMismatch("db", "data", "old", "new"), "TFTFFF InstanceIDMismatch InstanceIDMismatch",
			`Recreate the instance with spec.id old, or delete it, the volume claim "data" and the Secret to discard the data.`),
	}
}

// stopReasons returns the rows of an instance that is deleted or stopped.
func stopReasons() []reasonRow {
	ok := available(availableComponent())
	stopped := status.Component{Desired: true, Deployment: &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: new(int32)}}}
	scalingDown := *stopped.Deployment.DeepCopy()
	scalingDown.Status.Replicas = 1
	stop := func(i *status.Instance) {
		applied(i)
		i.Object.Annotations = map[string]string{v1alpha1.AnnotationCommand: v1alpha1.CommandStopped}
	}
	return []reasonRow{
		instanceRow("DeletionBlocked", "Ready=False", ok, ok, func(i *status.Instance) {
			applied(i)
			i.Failure = new(status.NewDeletionBlocked([]string{"a"}))
			i.Object.DeletionTimestamp = &metav1.Time{}
		}, "TTFFFF Deleting AsExpected", "Delete the engine."),
		instanceRow("Stopping", "MetadataReady=False", status.Component{Desired: true, Deployment: &scalingDown}, stopped, stop, "FTFFFF Stopping Stopped", ""),
		instanceRow("Stopped", "MetadataReady=False", stopped, stopped, stop, "FFFFFT AsExpected Stopped", ""),
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
