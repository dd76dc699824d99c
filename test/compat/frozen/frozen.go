// Package frozen reads and writes the recorded data of a release: its messages, schemas and
// objects, and the conditions that it computed from its observations.
package frozen

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Families of messages: the first part of a file's name in the directory messages.
const (
	Observation = "observation"
	Heartbeat   = "heartbeat"
	Lifecycle   = "lifecycle"
	Change      = "change"
	Entry       = "entry" // in the bucket; has no envelope
)

// Directories and files of a release.
const (
	Messages = "messages"
	Schemas  = "schemas"
	Objects  = "objects"
	Folds    = "folds.json"
)

// Fold maps condition types to the computed "status/reason".
type Fold map[string]string

// Release is a directory of testdata.
type Release struct{ Dir string }

// Read returns the files of a directory whose names begin with a prefix, by name.
func (r Release) Read(dir, prefix string) (map[string][]byte, error) {
	paths, err := filepath.Glob(filepath.Join(r.Dir, dir, prefix+"*"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s holds no %s/%s*", r.Dir, dir, prefix)
	}
	out := map[string][]byte{}
	for _, path := range paths {
		if out[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Folds returns the conditions that the release computed, by the file name of the observation.
func (r Release) Folds() (map[string]Fold, error) {
	raw, err := os.ReadFile(filepath.Join(r.Dir, Folds))
	if err != nil {
		return nil, err
	}
	var out map[string]Fold
	return out, json.Unmarshal(raw, &out)
}

// Of computes the conditions of an object without previous conditions from a fresh observation,
// an hour later, when all hold-downs have expired.
func Of(message []byte) (Fold, error) {
	_, o, err := contract.Decode[contract.Observation](message)
	if err != nil {
		return nil, err
	}
	in := conditions.Input{
		Observation: &o, Generation: o.Object.Generation, Deleting: o.Deleting, Now: o.ObservedAt, WithReady: o.Object.Kind == "Superset",
	}
	first := conditions.Compute(in)
	in.Previous, in.Memory, in.Now = first.Conditions, first.Memory, o.ObservedAt.Add(time.Hour)
	return summarize(conditions.Compute(in).Conditions), nil
}

// Refold computes conditions from an observation with the state and the conditions of its entry in
// the bucket, shortly after, like an aggregator that starts from the entry.
func Refold(message, entry []byte) (now, was Fold, err error) {
	_, o, err := contract.Decode[contract.Observation](message)
	if err != nil {
		return nil, nil, err
	}
	var e contract.StatusEntry
	if err := json.Unmarshal(entry, &e); err != nil {
		return nil, nil, err
	}
	var memory struct {
		Fold conditions.State `json:"fold"`
	}
	if err := json.Unmarshal(e.Memory, &memory); err != nil {
		return nil, nil, fmt.Errorf("state of the entry: %w", err)
	}
	if memory.Fold.UID != o.Object.UID {
		return nil, nil, errors.New("the state of the entry lacks the uid of the observation")
	}
	previous := make([]metav1.Condition, 0, len(e.Conditions))
	for _, c := range e.Conditions {
		previous = append(previous, metav1.Condition{
			Type: c.Type, Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message,
			ObservedGeneration: c.ObservedGeneration, LastTransitionTime: metav1.NewTime(c.LastTransitionTime),
		})
	}
	r := conditions.Compute(conditions.Input{
		Observation: &o, Generation: o.Object.Generation, Deleting: o.Deleting, Now: e.UpdatedAt.Add(time.Second),
		Previous: previous, Memory: memory.Fold, WithReady: slices.ContainsFunc(previous, func(c metav1.Condition) bool { return c.Type == conditions.TypeReady }),
	})
	return summarize(r.Conditions), summarize(previous), nil
}

func summarize(list []metav1.Condition) Fold {
	out := Fold{}
	for _, c := range list {
		out[c.Type] = string(c.Status) + "/" + c.Reason
	}
	return out
}

// Name returns the file name of a message or an object.
func Name(parts ...string) string { return strings.ToLower(strings.Join(parts, "-")) }
