// Package intent computes the patch of a pause, resume, stop or start.
//
// The operators support the annotation operator-command with one of two values, and spec.suspend of a Superset. The
// annotation has one value, so a pause and a stop exclude each other; a change that would silently remove the
// other one is rejected. Every change is idempotent. The package does no I/O; [Decide] is the entry point.
package intent

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/view"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/wait"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Verb is the command of the user.
type Verb string

// Verbs.
const (
	Pause  Verb = "pause"
	Resume Verb = "resume"
	Stop   Verb = "stop"
	Start  Verb = "start"
)

// Done returns the verb in the past tense.
func (v Verb) Done() string {
	return map[Verb]string{Pause: "paused", Resume: "resumed", Stop: "stopped", Start: "started"}[v]
}

// Criterion returns the condition that the operator reports after the change.
func (v Verb) Criterion() wait.Criterion {
	switch v {
	case Pause:
		return wait.Condition("Paused", "True")
	case Resume:
		return wait.Condition("Paused", "False")
	case Stop:
		return wait.Condition("Stopped", "True")
	default:
		return wait.Condition("Stopped", "False")
	}
}

// ErrRejected is wrapped by errors about a change that would undo another command.
var ErrRejected = errors.New("refused")

// Change is the patch to write. A nil Patch means that no change is needed.
type Change struct {
	Patch map[string]any // a JSON merge patch
	// Unchanged describes why no change is needed.
	Unchanged string
	// Note is additional information for the user; it may be empty.
	Note string
}

// Decide returns the change that a verb requires for the current object.
func Decide(verb Verb, kind contract.Kind, u *unstructured.Unstructured) (Change, error) {
	if kind == contract.FireboltEngineClass || kind.Stored() {
		return Change{}, fmt.Errorf("%w: a %s cannot be paused or stopped", ErrRejected, kind)
	}
	now := state{
		kind: kind, command: u.GetAnnotations()[view.AnnotationCommand], intent: view.Of(kind, u).Intent,
	}
	now.suspended = now.intent.PausedBy == "spec.suspend"
	switch verb {
	case Pause:
		return now.pause()
	case Stop:
		return now.stop()
	case Resume:
		return now.resume(), nil
	case Start:
		return now.start(), nil
	}
	return Change{}, fmt.Errorf("unknown verb %q", verb)
}

type state struct {
	kind      contract.Kind
	command   string // value of the annotation
	suspended bool   // spec.suspend
	intent    contract.Intent
}

func (s state) pause() (Change, error) {
	switch {
	case s.intent.Paused:
		return Change{Unchanged: "is already paused by " + s.intent.PausedBy, Note: s.alsoStopped()}, nil
	case s.intent.Stopped && s.kind == contract.Superset:
		return Change{Patch: suspend(true), Note: "it is also stopped, and stays stopped; spec.suspend is set, since the annotation is in use"}, nil
	case s.intent.Stopped:
		return Change{}, fmt.Errorf("%w: it is stopped, and the annotation %s holds one command only, so a pause would remove the stop: start it first",
			ErrRejected, view.AnnotationCommand)
	}
	return Change{Patch: command(view.CommandPaused), Note: s.replaces()}, nil
}

func (s state) stop() (Change, error) {
	switch {
	case s.intent.Stopped:
		return Change{Unchanged: "is already stopped by " + s.intent.StoppedBy, Note: s.alsoPaused()}, nil
	case s.command == view.CommandPaused:
		return Change{}, fmt.Errorf("%w: it is paused, and the annotation %s holds one command only, so a stop would remove the pause: resume it first",
			ErrRejected, view.AnnotationCommand)
	}
	note := s.replaces()
	if s.suspended {
		note = "it is paused by spec.suspend, so it stops only once it is resumed"
	}
	return Change{Patch: command(view.CommandStopped), Note: note}, nil
}

func (s state) resume() Change {
	if !s.intent.Paused {
		return Change{Unchanged: "is not paused", Note: s.alsoStopped()}
	}
	c := Change{Note: s.alsoStopped()}
	c.Patch = map[string]any{}
	if s.command == view.CommandPaused {
		c.Patch = command(nil)
	}
	if s.suspended {
		c.Patch["spec"] = map[string]any{"suspend": nil}
	}
	return c
}

func (s state) start() Change {
	if !s.intent.Stopped {
		return Change{Unchanged: "is not stopped", Note: s.alsoPaused()}
	}
	c := Change{Patch: command(nil)}
	if s.intent.Paused {
		c.Note = "it is paused by " + s.intent.PausedBy + ", so it starts only once it is resumed"
	}
	return c
}

func (s state) alsoStopped() string {
	if !s.intent.Stopped {
		return s.unknown()
	}
	return "it is stopped by " + s.intent.StoppedBy + ", and stays stopped: run \"start\" to start it"
}

func (s state) alsoPaused() string {
	if !s.intent.Paused {
		return s.unknown()
	}
	return "it is paused by " + s.intent.PausedBy + ": run \"resume\" to resume it"
}

// unknown returns a warning about a value that the operators ignore, for example "paused".
func (s state) unknown() string {
	switch s.command {
	case "", view.CommandPaused, view.CommandStopped:
		return ""
	}
	return fmt.Sprintf("the annotation %s holds %q, which operators ignore", view.AnnotationCommand, s.command)
}

func (s state) replaces() string {
	if text := s.unknown(); text != "" {
		return text + "; it is replaced"
	}
	return ""
}

// command sets the annotation, or removes it for nil.
func command(value any) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": map[string]any{view.AnnotationCommand: value}}}
}

func suspend(value any) map[string]any {
	return map[string]any{"spec": map[string]any{"suspend": value}}
}
