package view

import (
	"cmp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// AnnotationCommand is the annotation with which a user pauses or stops an object, and its two values. The operators
// compare the values exactly and ignore any other.
const (
	AnnotationCommand = "operator-command"
	CommandPaused     = "Paused"
	CommandStopped    = "Stopped"
)

// Resource is the state of a custom resource. Its JSON form is the output of the commands with -o json.
type Resource struct {
	Kind      contract.Kind `json:"kind"` // the contract's token, for example "superset"
	Namespace string        `json:"namespace"`
	Name      string        `json:"name"`
	UID       string        `json:"uid"`
	CreatedAt time.Time     `json:"createdAt"`
	// Generation is the generation of the spec, ObservedGeneration that of the status as a whole; 0 if the status has none.
	Generation         int64  `json:"generation"`
	ObservedGeneration int64  `json:"observedGeneration"`
	Deleting           bool   `json:"deleting,omitempty"`
	Phase              string `json:"phase,omitempty"`
	// DeployedVersion is the running version: a version for a Superset, an image for the others.
	DeployedVersion string          `json:"deployedVersion,omitempty"`
	Intent          contract.Intent `json:"intent"`
	// Groups are the parts of the resource in its status, in display order.
	Groups     []Group              `json:"groups,omitempty"`
	Conditions []contract.Condition `json:"conditions,omitempty"`
	// Transitions are the latest changes of the phase, oldest first.
	Transitions []contract.PhaseChange `json:"transitions,omitempty"`
}

// Group is a set of similar parts, for example the components.
type Group struct {
	Title string `json:"title"`
	Parts []Part `json:"parts"`
}

// Part is one component, task, generation or referenced resource.
type Part struct {
	Name    string `json:"name"`
	State   string `json:"state,omitempty"`
	Ready   string `json:"ready,omitempty"` // for example "2/3"
	Ref     string `json:"ref,omitempty"`   // for example "Deployment/main-web-server"
	Message string `json:"message,omitempty"`
}

// Ref returns kind/name, as the commands accept it.
func (r Resource) Ref() string { return string(r.Kind) + "/" + r.Name }

// Condition returns the condition of a type; like kubectl, it ignores case.
func (r Resource) Condition(conditionType string) (contract.Condition, bool) {
	for _, c := range r.Conditions {
		if strings.EqualFold(c.Type, conditionType) {
			return c, true
		}
	}
	return contract.Condition{}, false
}

// ObservedGenerationOf returns the observed generation of a condition: its own, or that of the whole status.
func (r Resource) ObservedGenerationOf(c contract.Condition) int64 {
	return cmp.Or(c.ObservedGeneration, r.ObservedGeneration)
}

// Of extracts the fields of an object. A field of an unexpected type counts as absent.
func Of(kind contract.Kind, u *unstructured.Unstructured) Resource {
	r := Resource{
		Kind: kind, Namespace: u.GetNamespace(), Name: u.GetName(), UID: string(u.GetUID()),
		CreatedAt: u.GetCreationTimestamp().UTC(), Generation: u.GetGeneration(),
		Deleting: u.GetDeletionTimestamp() != nil, Intent: intent(u),
	}
	status := object(u.Object, "status")
	r.ObservedGeneration = integer(status, "observedGeneration")
	r.Phase = text(status, "phase")
	r.DeployedVersion = cmp.Or(text(status, "deployedVersion"), Tag(text(status, "lastLifecycleImage")))
	r.Conditions = decode[contract.Condition](status["conditions"])
	r.Transitions = decode[contract.PhaseChange](status["transitions"])
	r.Groups = groups(kind, u.Object, status)
	return r
}

// intent returns the requested intent by the rules of the operators. Only a Superset has spec.suspend.
func intent(u *unstructured.Unstructured) contract.Intent {
	var in contract.Intent
	by := "annotation " + AnnotationCommand
	suspend, _, err := unstructured.NestedBool(u.Object, "spec", "suspend")
	command := u.GetAnnotations()[AnnotationCommand]
	switch {
	case err == nil && suspend:
		in.Paused, in.PausedBy = true, "spec.suspend"
	case command == CommandPaused:
		in.Paused, in.PausedBy = true, by
	}
	if command == CommandStopped {
		in.Stopped, in.StoppedBy = true, by
	}
	return in
}

// Tag returns the tag of an image, or the image itself if it has no tag or a digest.
func Tag(image string) string {
	slash := strings.LastIndex(image, "/")
	colon := strings.LastIndex(image, ":")
	if colon <= slash || strings.Contains(image, "@") {
		return image
	}
	return image[colon+1:]
}

// decode converts a list of the status; it skips entries of another form.
func decode[T any](list any) []T {
	entries, ok := list.([]any)
	if !ok {
		return nil
	}
	out := make([]T, 0, len(entries))
	for _, e := range entries {
		m, ok := e.(map[string]any)
		if !ok {
			continue
		}
		var v T
		if err := fromMap(m, &v); err == nil {
			out = append(out, v)
		}
	}
	return out
}

func fromMap(m map[string]any, v any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(m, v)
}

// object, text and integer return a field; a field of another type counts as absent.

func object(m map[string]any, key string) map[string]any {
	o, _ := m[key].(map[string]any)
	return o
}

func text(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}

func integer(m map[string]any, key string) int64 {
	switch n := m[key].(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return 0
}
