package resolve

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// DatabaseTool is a container that runs the programs of a database server.
type DatabaseTool struct {
	Type       v1alpha1.DatabaseType
	Image      string
	PullPolicy corev1.PullPolicy
	// ImageInput replaces Image in checksums, so that a new default of the operator does not run a clone again.
	ImageInput string
	// Security prevents the container from running as root, unless the user overrides it.
	Security *corev1.SecurityContext
}

// tool holds the defaults for a kind of database. The user is the one that the image defines for its server, since
// the image starts as root.
type tool struct {
	repository, tag string
	// inputTag replaces tag in checksums.
	inputTag string
	user     int64
	port     int32
}

var databaseTools = map[v1alpha1.DatabaseType]tool{
	v1alpha1.PostgreSQL: {repository: "postgres", tag: "17-alpine", inputTag: "17-alpine", user: 70, port: 5432},
	v1alpha1.MySQL:      {repository: "mysql", tag: "8.4", inputTag: "8-alpine", user: 999, port: 3306},
}

func toolOf(kind v1alpha1.DatabaseType) tool {
	if t, known := databaseTools[kind]; known {
		return t
	}
	return databaseTools[v1alpha1.PostgreSQL]
}

// databaseTool resolves the container for a kind of database; image is the user's and may lack any part, pod is the
// template of the pod.
func databaseTool(kind v1alpha1.DatabaseType, image *v1alpha1.ContainerImageSpec, pod *v1alpha1.PodTemplate) DatabaseTool {
	defaults, own := toolOf(kind), orZero(image)
	t := DatabaseTool{Type: kind, PullPolicy: corev1.PullIfNotPresent}
	repository, tag, inputTag := defaults.repository, defaults.tag, defaults.inputTag
	if own.Repository != "" {
		repository = own.Repository
	}
	if own.Tag != "" {
		tag, inputTag = own.Tag, own.Tag
	}
	if own.PullPolicy != "" {
		t.PullPolicy = own.PullPolicy
	}
	t.Image, t.ImageInput = repository+":"+tag, repository+":"+inputTag
	t.Security = restricted(pod, &defaults.user)
	return t
}

// restricted completes the user's security context. user is nil if the image decides
// which user it runs as, and what else it needs.
func restricted(template *v1alpha1.PodTemplate, user *int64) *corev1.SecurityContext {
	pod, s := orZero(template.PodSecurityContext), orZero(orZero(template.Container).SecurityContext)
	falseValue, trueValue := false, true
	pinned := first(s.RunAsUser, pod.RunAsUser) != nil
	nonRoot := first(s.RunAsNonRoot, pod.RunAsNonRoot)
	if user != nil && !pinned && or(nonRoot, true) {
		s.RunAsUser = user
		if nonRoot == nil {
			s.RunAsNonRoot = &trueValue
		}
	}
	if user != nil && s.Capabilities == nil && !enabled(s.Privileged) {
		s.Capabilities = &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}
	}
	// The API server rejects the combination with either of these.
	escalates := enabled(s.Privileged) || s.Capabilities != nil && slices.Contains(s.Capabilities.Add, "SYS_ADMIN")
	if s.AllowPrivilegeEscalation == nil && !escalates {
		s.AllowPrivilegeEscalation = &falseValue
	}
	if s.SeccompProfile == nil && pod.SeccompProfile == nil && !enabled(s.Privileged) {
		s.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	}
	return &s
}

// createDatabase resolves the container that creates the metastore's database; nil if it is not enabled.
func createDatabase(m *v1alpha1.MetastoreSpec, pod *v1alpha1.PodTemplate) *DatabaseTool {
	if m == nil || !enabled(m.CreateDatabase) || database(m).Mode != DatabaseParts {
		return nil
	}
	t := databaseTool(databaseType(m), nil, pod)
	return &t
}

func databaseType(m *v1alpha1.MetastoreSpec) v1alpha1.DatabaseType {
	if isMySQL(m) {
		return v1alpha1.MySQL
	}
	return v1alpha1.PostgreSQL
}
