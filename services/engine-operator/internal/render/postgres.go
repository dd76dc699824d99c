package render

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// Settings of the operator's own PostgreSQL.
const (
	postgresUsername = "firebolt"
	postgresDatabase = "firebolt_metadata"
)

// Keys of a credentials Secret.
const (
	SecretUsername = "username"
	SecretPassword = "password"
	SecretDatabase = "database"
)

// Postgres holds the objects of the operator's own database.
type Postgres struct {
	Service     *corev1.Service
	StatefulSet *appsv1.StatefulSet
}

// PostgresCredentials returns the Secret of the operator's own database. It is created once
// and never applied again: the data was initialized with its password.
// It has no owner, so that it outlives the instance, as the volume does: neither is useful
// without the other. The Secret also records the id of the instance, since the data
// was written under that id.
func PostgresCredentials(i *v1alpha1.FireboltInstance, password string) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Name: names.PostgresSecret(i.Name), Namespace: i.Namespace,
			Labels:      names.ComponentLabels(i.Name, ComponentPostgres),
			Annotations: map[string]string{names.AnnotationInstanceID: i.Spec.ID},
		},
		StringData: map[string]string{
			SecretUsername: postgresUsername, SecretPassword: password, SecretDatabase: postgresDatabase,
		},
	}
}

// Retention returns the policy that keeps the volume of the operator's own database when its StatefulSet
// is deleted or scaled to zero: it holds the catalog of every engine's data.
func Retention() *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy {
	return &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
		WhenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
		WhenScaled:  appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
	}
}

// PostgresOf renders the operator's own database with the given number of replicas, 0 or 1.
func PostgresOf(i *v1alpha1.FireboltInstance, images Images, replicas int32) (Postgres, error) {
	labels := names.ComponentLabels(i.Name, ComponentPostgres)
	meta := metav1.ObjectMeta{Name: names.Postgres(i.Name), Namespace: i.Namespace, Labels: labels}
	out := Postgres{
		Service: &corev1.Service{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			ObjectMeta: meta,
			Spec: corev1.ServiceSpec{
				ClusterIP: corev1.ClusterIPNone, Selector: labels,
				Ports: []corev1.ServicePort{port("postgres", names.PortPostgres)},
			},
		},
		StatefulSet: &appsv1.StatefulSet{
			TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
			ObjectMeta: meta,
			Spec: appsv1.StatefulSetSpec{
				Replicas: new(replicas), ServiceName: names.Postgres(i.Name),
				Selector:                             &metav1.LabelSelector{MatchLabels: labels},
				PersistentVolumeClaimRetentionPolicy: Retention(),
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec: corev1.PodSpec{
						AutomountServiceAccountToken: new(false),
						SecurityContext: &corev1.PodSecurityContext{
							FSGroup: new(int64(postgresUser)), FSGroupChangePolicy: new(corev1.FSGroupChangeOnRootMismatch),
							SeccompProfile: RuntimeDefault(),
						},
						Containers: []corev1.Container{postgresContainer(names.PostgresSecret(i.Name), images.Postgres)},
						Volumes: []corev1.Volume{
							{Name: "run", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
							{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
						},
					},
				},
				VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
					// Without kind and version: the API server drops them inside a StatefulSet.
					ObjectMeta: metav1.ObjectMeta{Name: volumeData},
					Spec: corev1.PersistentVolumeClaimSpec{
						AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
						Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
							corev1.ResourceStorage: resource.MustParse("10Gi"),
						}},
					},
				}},
			},
		},
	}
	err := annotateHash(out.StatefulSet, out.StatefulSet.Spec)
	c := &out.StatefulSet.Spec.Template.Spec.Containers[0]
	// The recovery after a crash accepts no connection, and would begin again after each restart.
	c.StartupProbe = &corev1.Probe{ProbeHandler: pgIsReady(), PeriodSeconds: 5, TimeoutSeconds: 5, FailureThreshold: 720}
	c.LivenessProbe = &corev1.Probe{ProbeHandler: pgIsReady(), PeriodSeconds: 10, TimeoutSeconds: 5}
	return out, err
}

func postgresContainer(secret, image string) corev1.Container {
	fromSecret := func(name, key string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: key,
		}}}
	}
	return corev1.Container{
		Name: names.ContainerPostgres, Image: image, ImagePullPolicy: DefaultPullPolicy(image),
		Env: []corev1.EnvVar{
			fromSecret("POSTGRES_USER", SecretUsername), fromSecret("POSTGRES_PASSWORD", SecretPassword),
			fromSecret("POSTGRES_DB", SecretDatabase),
			{Name: "PGDATA", Value: "/var/lib/postgresql/data/pgdata"},
		},
		Ports:           []corev1.ContainerPort{ContainerPort("postgres", names.PortPostgres)},
		SecurityContext: SecurityContext(postgresUser),
		Resources:       corev1.ResourceRequirements{Requests: Quantities("25m", "64Mi"), Limits: Quantities("250m", "256Mi")},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(names.PortPostgres)}},
			PeriodSeconds: 5,
		},
		LivenessProbe: hashedLiveness(),
		VolumeMounts: []corev1.VolumeMount{
			{Name: volumeData, MountPath: "/var/lib/postgresql/data"},
			{Name: "run", MountPath: "/var/run/postgresql"},
			{Name: "tmp", MountPath: "/tmp"},
		},
	}
}

// hashedLiveness returns the liveness probe in the fingerprint, which is that of earlier releases, without a startup probe:
// another fingerprint would apply our image to the data of adopted databases, which may be of another major version.
func hashedLiveness() *corev1.Probe {
	return &corev1.Probe{ProbeHandler: pgIsReady(), InitialDelaySeconds: 30, PeriodSeconds: 10, TimeoutSeconds: 5}
}

func pgIsReady() corev1.ProbeHandler {
	return corev1.ProbeHandler{Exec: &corev1.ExecAction{
		Command: []string{"pg_isready", "-U", postgresUsername, "-d", postgresDatabase},
	}}
}

// Quantities returns requests or limits of a container.
func Quantities(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}
