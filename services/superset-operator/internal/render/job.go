package render

import (
	"encoding/json"
	"fmt"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/checksum"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render/pyconfig"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/scripts"
)

// Job renders one attempt of a task. The Job never retries by itself: the
// operator counts attempts, so that they survive the Job.
func Job(t *resolve.Task, taskChecksum string, attempt int32) (*batchv1.Job, error) {
	pod := taskPod(t)
	hash, err := TaskPodHash(t)
	if err != nil {
		return nil, err
	}
	annotations := map[string]string{v1alpha1.AnnotationConfigChecksum: taskChecksum}
	podAnnotations := layered(t.Pod.Annotations, annotations)
	annotations[v1alpha1.AnnotationPodSpecHash] = hash
	annotations[v1alpha1.AnnotationAttempt] = strconv.Itoa(int(attempt))
	return &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Namespace: t.Namespace, Name: t.Name, Labels: t.Labels, Annotations: annotations},
		Spec: batchv1.JobSpec{
			BackoffLimit:          new(int32),
			Completions:           new(int32(1)),
			Parallelism:           new(int32(1)),
			ActiveDeadlineSeconds: new(int64(t.Timeout.Seconds())),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: layered(t.Pod.Labels, t.Labels), Annotations: podAnnotations},
				Spec:       pod,
			},
		},
	}, nil
}

// TaskPodHash returns the fingerprint of the pod of a task. A task that failed permanently is retried when it changes. It
// covers the pod's spec, the user's labels and annotations, and the time that the pod gets. Defaults count as
// absent: they were not always covered, and the same settings must keep their fingerprint across releases.
func TaskPodHash(t *resolve.Task) (string, error) {
	usual := *t
	usual.Migrated = false
	text, err := json.Marshal(new(taskPod(&usual)))
	if err != nil {
		return "", fmt.Errorf("encode pod: %w", err)
	}
	sum := checksum.New("pod").String("spec", string(text)).Map("labels", t.Pod.Labels).Map("annotations", t.Pod.Annotations)
	if t.Timeout != t.DefaultTimeout() {
		sum.String("timeout", t.Timeout.String())
	}
	if t.Kind.Type == resolve.Preflight.Type && !t.Migrated && !t.SkipsMigration {
		sum.Bool("migrates", true)
	}
	return sum.Sum(), nil
}

func taskPod(t *resolve.Task) corev1.PodSpec {
	pod := podSpec(&t.Workload, taskContainer(t))
	pod.InitContainers = withCreateDatabase(t, pod.InitContainers)
	// The cause of a failure is then in the pod's status, without access to logs.
	pod.Containers[0].TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	pod.RestartPolicy = corev1.RestartPolicyNever
	return pod
}

// taskContainer returns a container without probes, which could only kill the task.
func taskContainer(t *resolve.Task) container {
	if t.Clone != nil {
		return container{command: cloneCommand(t), env: cloneEnvironment(t), ports: t.Pod.Container.Ports}
	}
	return container{
		command: taskCommand(t),
		env:     environment(&t.Workload, taskEnvironment(t)...),
		ports:   t.Pod.Container.Ports,
		files:   pythonFiles(&t.Workload),
	}
}

// Names of the environment variables that the clone script reads, besides those of the metastore.
const (
	envSourceHost     = pyconfig.EnvPrefix + "CLONE_SRC_HOST"
	envSourcePort     = pyconfig.EnvPrefix + "CLONE_SRC_PORT"
	envSourceDatabase = pyconfig.EnvPrefix + "CLONE_SRC_DB"
	envSourceUser     = pyconfig.EnvPrefix + "CLONE_SRC_USER"
	envSourcePassword = pyconfig.EnvPrefix + "CLONE_SRC_PASS"
	// Lists have one variable for each entry, counted from 0: an entry may hold any text.
	envExcludeTable     = pyconfig.EnvPrefix + "CLONE_EXCLUDE_TABLE_"
	envExcludeTableData = pyconfig.EnvPrefix + "CLONE_EXCLUDE_TABLE_DATA_"
	envPostSQL          = pyconfig.EnvPrefix + "CLONE_POST_SQL_"
)

// cloneCommand returns the user's command unchanged, or the script for the source's kind of database.
func cloneCommand(t *resolve.Task) []string {
	if len(t.Command) > 0 {
		return t.Command
	}
	return shell(scripts.Clone(t.Clone.Tool.Type))
}

// cloneEnvironment returns the variables of the script, also for a command of the user.
func cloneEnvironment(t *resolve.Task) []corev1.EnvVar {
	c := t.Clone
	env := appendValue([]corev1.EnvVar{
		Variable(envSourceHost, c.Host),
		Variable(envSourcePort, strconv.Itoa(int(c.Port))),
		Variable(envSourceDatabase, c.Database),
		Variable(envSourceUser, c.User),
	}, envSourcePassword, c.Password)
	env = append(env, databaseEnvironment(&t.Inputs)...)
	env = appendList(env, envExcludeTable, c.ExcludeTables)
	env = appendList(env, envExcludeTableData, c.ExcludeTableData)
	return appendList(env, envPostSQL, c.PostSQL)
}

func appendList(env []corev1.EnvVar, prefix string, values []string) []corev1.EnvVar {
	for i, value := range values {
		env = append(env, Variable(prefix+strconv.Itoa(i), value))
	}
	return env
}
