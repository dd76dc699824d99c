package lifecycle_test

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/checksum"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const (
	image = "superset:1"
	// inputImage stands for image in checksums.
	inputImage = "superset:default"
)

func at(seconds int) *metav1.Time {
	return &metav1.Time{Time: now.Add(time.Duration(seconds) * time.Second)}
}

func input(edit ...func(*lifecycle.Input)) lifecycle.Input {
	in := lifecycle.Input{
		Steps: []lifecycle.Step{
			{Kind: resolve.Migrate, JobName: "x-migrate", Checksum: "m1", Inputs: "m", PodHash: "p1", Image: image, MaxRetries: 3, RequiresDrain: true},
			{Kind: resolve.Init, JobName: "x-init", Checksum: "i1", Inputs: "i", PodHash: "p1", Image: image, MaxRetries: 3},
		},
		Name: "x", Jobs: map[string]lifecycle.Job{}, Image: image, Components: true,
		Now: now,
	}
	for _, e := range edit {
		e(&in)
	}
	return in
}

func entry(state v1alpha1.TaskState, desired, completed string, attempts int32) *v1alpha1.TaskRefStatus {
	return &v1alpha1.TaskRefStatus{
		State: state, DesiredChecksum: desired, CompletedChecksum: completed, Attempts: attempts,
		Image: image, MaxRetries: 3, StartedAt: at(-60),
	}
}

func persisted(migrate, init *v1alpha1.TaskRefStatus) func(*lifecycle.Input) {
	return func(in *lifecycle.Input) {
		in.Status = &v1alpha1.LifecycleStatus{
			ChecksumScheme: checksum.Scheme, Phase: v1alpha1.LifecycleMigrating, Migrate: migrate, Init: init,
			LastCompletedChecksums: map[string]string{},
		}
		for kind, s := range map[string]*v1alpha1.TaskRefStatus{"Migrate": migrate, "Init": init} {
			if s != nil && s.CompletedChecksum != "" {
				in.Status.LastCompletedChecksums[kind] = s.CompletedChecksum
			}
		}
	}
}

func job(task string, j lifecycle.Job) func(*lifecycle.Input) {
	return func(in *lifecycle.Input) {
		if j.UID == "" {
			j.UID = "job-uid"
		}
		if j.PodHash == "" {
			j.PodHash = "p1"
		}
		in.Jobs[task] = j
	}
}

func lastImage(image string) func(*lifecycle.Input) {
	return func(in *lifecycle.Input) { in.LastImage = image }
}
