package render

import (
	"fmt"
	"net/netip"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/resolve"
)

// Users that the images run as.
const (
	metadataUser   = 1111
	metadataNGUser = 1112
	postgresUser   = 70
)

// VolumeCredentials is the volume of the metadata pod with the credentials of the database.
const VolumeCredentials = "postgres-creds" //nolint:gosec // the name of a volume

// The other volume of the metadata pod that belongs to the operator, and its grace period.
const (
	volumeMetadataConfig = "config"
	metadataGraceSeconds = 30
)

// Components of an instance, as values of the component label.
const (
	componentMetadata = "metadata"
	ComponentPostgres = "postgres"
)

// Database describes the connection of the metadata service to PostgreSQL. It holds no password:
// the Secret is mounted.
type Database struct {
	Host, Name, Schema, Secret string
	Port                       int32
}

// DatabaseOf returns the external database of the spec, or the operator's own.
func DatabaseOf(i *v1alpha1.FireboltInstance) Database {
	if p := i.Spec.Metadata.Postgres; p != nil {
		return Database{Host: p.Host, Port: p.Port, Name: p.Database, Schema: p.Schema, Secret: p.CredentialsSecretRef.Name}
	}
	return Database{
		Host: names.ServiceHost(names.Postgres(i.Name), i.Namespace), Port: names.PortPostgres,
		Name: postgresDatabase, Schema: "public", Secret: names.PostgresSecret(i.Name),
	}
}

// Metadata holds all objects of an instance's metadata service.
type Metadata struct {
	Config     *corev1.ConfigMap
	Service    *corev1.Service
	Deployment *appsv1.Deployment
}

// MetadataOf renders the metadata service with the given number of replicas, 0 or 1, and the address at which it listens,
// 0.0.0.0 or ::.
func MetadataOf(i *v1alpha1.FireboltInstance, images Images, replicas int32, listen netip.Addr) (Metadata, error) {
	db := DatabaseOf(i)
	text, err := metadataConfig(i, db, listen)
	if err != nil {
		return Metadata{}, err
	}
	hash, err := resolve.Hash(text)
	if err != nil {
		return Metadata{}, fmt.Errorf("hash metadata configuration of instance %q: %w", i.Name, err)
	}
	labels := names.ComponentLabels(i.Name, componentMetadata)
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Namespace: i.Namespace, Labels: labels}
	}
	out := Metadata{
		Config: &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: meta(names.MetadataConfig(i.Name)), Data: map[string]string{"config.yaml": text},
		},
		Service: &corev1.Service{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			ObjectMeta: meta(names.Metadata(i.Name)),
			Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{port("grpc", names.PortMetadata)}},
		},
		Deployment: &appsv1.Deployment{
			TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
			ObjectMeta: meta(names.Metadata(i.Name)),
			Spec: appsv1.DeploymentSpec{
				Replicas: new(replicas),
				Selector: &metav1.LabelSelector{MatchLabels: labels},
				Strategy: hashedStrategy(),
				Template: metadataPod(i, db, images.Metadata, hash),
			},
		},
	}
	err = AnnotateDeployment(out.Deployment)
	// One writer: only Recreate waits until the old pod has ended.
	out.Deployment.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	return out, err
}

// hashedStrategy returns the strategy in the fingerprint. It is that of earlier releases: another fingerprint would restart
// the pods of adopted instances, which do not depend on the strategy.
func hashedStrategy() appsv1.DeploymentStrategy {
	return appsv1.DeploymentStrategy{
		Type: appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxSurge: new(intstr.FromInt32(0)), MaxUnavailable: new(intstr.FromInt32(1)),
		},
	}
}

// metadataConfig returns config.yaml. It contains no user and no password: they are files of the Secret.
func metadataConfig(i *v1alpha1.FireboltInstance, db Database, listen netip.Addr) (string, error) {
	root := map[string]any{
		"default_account_id": i.Spec.ID, "host": listen.String(), "port": names.PortMetadata,
		"metadata_storage": map[string]any{"postgresql": map[string]any{
			"host": db.Host, "port": db.Port, "database": db.Name, "schema": db.Schema,
		}},
	}
	if !i.Spec.MetadataNG {
		root["server_threads"] = 0
		root["log_level"] = "info"
		root["connect_timeout"] = 5
		root["keepalive"] = map[string]any{"enabled": 1, "time": 120, "timeout": 30, "probes": 5}
		root["garbage_collection"] = map[string]any{"enabled": true, "interval_ms": 3600000, "retention_s": 86400}
	}
	text, err := yaml.Marshal(map[string]any{"pensieve_lite": root})
	if err != nil {
		return "", fmt.Errorf("write metadata configuration of instance %q: %w", i.Name, err)
	}
	return string(text), nil
}

// metadataPod returns the pod of the metadata service. It renders every field that the template may
// set: package validation rejects the others before.
func metadataPod(i *v1alpha1.FireboltInstance, db Database, image, hash string) corev1.PodTemplateSpec {
	user := int64(metadataUser)
	if i.Spec.MetadataNG {
		user = metadataNGUser
	}
	c := corev1.Container{
		Name: names.ContainerMetadata, Image: image,
		Command: []string{"/dedicated-pensieve", "--config", "/configs/config.yaml"},
		Env: []corev1.EnvVar{
			{Name: "POSTGRES_USERNAME_FILE", Value: "/secrets/postgres/" + SecretUsername},
			{Name: "POSTGRES_PASSWORD_FILE", Value: "/secrets/postgres/" + SecretPassword},
		},
		Ports:           []corev1.ContainerPort{ContainerPort("grpc", names.PortMetadata)},
		SecurityContext: SecurityContext(user),
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: names.PortMetadata}},
			PeriodSeconds: 3, TimeoutSeconds: 3,
		},
		LivenessProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(names.PortMetadata)}},
			PeriodSeconds: 10, TimeoutSeconds: 3,
		},
		VolumeMounts: []corev1.VolumeMount{
			{Name: volumeMetadataConfig, MountPath: "/configs", ReadOnly: true},
			{Name: VolumeCredentials, MountPath: "/secrets/postgres", ReadOnly: true},
		},
	}
	t := componentPod(i.Spec.Metadata.Template, names.ComponentLabels(i.Name, componentMetadata), c)
	t.Annotations[names.AnnotationPodConfig] = hash
	t.Spec.TerminationGracePeriodSeconds = new(int64(metadataGraceSeconds))
	t.Spec.AutomountServiceAccountToken = new(false)
	t.Spec.Volumes = append([]corev1.Volume{
		{Name: volumeMetadataConfig, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: names.MetadataConfig(i.Name)},
		}}},
		{Name: VolumeCredentials, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: db.Secret}}},
	}, slices.DeleteFunc(t.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Name == volumeMetadataConfig || v.Name == VolumeCredentials
	})...)
	return t
}
