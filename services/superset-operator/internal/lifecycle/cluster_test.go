package lifecycle_test

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
)

// writesOf returns the writes that follow from a decision, in the controller's order.
func (m *model) writesOf(t rapid.TB, in lifecycle.Input, d lifecycle.Decision) []func() {
	var out []func()
	for _, a := range d.Actions {
		out = append(out, func() { m.write(t, in, d, a) })
	}
	if d.ClearApprovals {
		out = append(out, func() { m.approval = [2]string{} })
	}
	out = append(out, func() {
		m.pageUp = d.Page
		m.page.Ready = m.page.Ready && d.Page
	}, func() { m.page.Routed = d.Status.MaintenanceActive })
	if d.Mode == lifecycle.Apply {
		if m.drainTaskStarted || older(m.metastore, in.Image) {
			m.metastore = in.Image
		}
		m.migrated, m.drainTaskStarted = "", false
	}
	for _, c := range m.deployments() {
		out = append(out, func() { m.writeDeployment(in, d, c) })
	}
	return out
}

func (m *model) write(t rapid.TB, in lifecycle.Input, d lifecycle.Decision, a lifecycle.Action) {
	job, exists := m.jobs[a.Task]
	if a.Verb == lifecycle.Delete {
		if exists && job.UID == a.UID {
			job.Deleting = true
			m.jobs[a.Task] = job
		}
		return
	}
	if exists {
		return // the API server rejects a second Job of the same name
	}
	step := find(in.Steps, a.Task)
	m.checkStart(t, in, step)
	m.serial++
	m.jobs[a.Task] = lifecycle.Job{
		UID: types.UID(fmt.Sprint(m.serial)), Checksum: step.Checksum, PodHash: step.PodHash,
		Attempt: a.Attempt, Image: step.Image,
	}
	m.drainTaskStarted = m.drainTaskStarted || step.RequiresDrain
	switch a.Task {
	case "clone":
		m.succeeded = map[string]map[string]bool{}
	case "preflight":
		if m.verifiedKeys != step.KeysChecksum {
			m.verifiedKeys = ""
		}
	}
}

func find(steps []lifecycle.Step, slug string) *lifecycle.Step {
	i := slices.IndexFunc(steps, func(s lifecycle.Step) bool { return s.Kind.Slug == slug })
	return &steps[i]
}

// finish sets the result of the running Job of a task.
func (m *model) finish(task string, state lifecycle.JobState) {
	j, exists := m.jobs[task]
	if !exists || j.State != lifecycle.JobActive || j.Deleting {
		return
	}
	code := int32(1)
	j.State, j.FinishedAt, j.Message, j.ExitCode, j.LogTail = state, &metav1.Time{Time: m.now}, "failed", &code, "the end"
	if state == lifecycle.JobSucceeded {
		j.Message, j.ExitCode, j.LogTail = "", nil, ""
		if m.succeeded[task] == nil {
			m.succeeded[task] = map[string]bool{}
		}
		m.succeeded[task][j.Checksum] = true
		if task == "clone" && !m.abandoned[j.UID] {
			m.cloned = j.Checksum
		}
		if task == "preflight" {
			settings, _, _ := strings.Cut(j.Checksum, ", superset:")
			m.accepted[j.Checksum], m.accepted[settings] = true, true
			m.verifiedKeys, _, _ = strings.Cut(j.Checksum, ", ")
		}
		if task == "migrate" && !m.abandoned[j.UID] && !older(m.migrated, j.Image) {
			m.migrated = j.Image
		}
	}
	m.jobs[task] = j
}

// collect removes terminating objects and pods without a Job, and creates the pods of Deployments.
func (m *model) collect() {
	for task, j := range m.jobs {
		if j.Deleting {
			delete(m.jobs, task)
		}
	}
	m.former = nil
	for _, c := range m.deployments() {
		switch {
		case c.size > 0:
			c.pods = c.size
		case c.pods > 0:
			c.pods--
		}
	}
	m.webReady = m.web.size > 0
	m.page.Ready = m.pageUp
}
