package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// table is the known state, up to an event.
type table struct {
	// Stream is the creation time of the stream: sequences are valid for that stream only.
	Stream time.Time `json:"stream"`
	// Sequence of the last event that the table contains.
	Sequence uint64            `json:"sequence"`
	Objects  map[string]object `json:"objects"` // by <namespace>/<kind>/<name>
}

type object struct {
	UID        string            `json:"uid"`
	Phase      string            `json:"phase,omitempty"`
	Conditions map[string]string `json:"conditions,omitempty"` // status by type
	// Events counts the events since the object was added to the table.
	Events int `json:"events"`
}

func key(o contract.Object) string {
	return o.Namespace + "/" + strings.ToLower(o.Kind) + "/" + o.Name
}

// add adds a status entry to the table.
func (t *table) add(e contract.StatusEntry) {
	o := object{UID: e.Object.UID, Phase: e.Phase, Conditions: statuses(e.Conditions), Events: t.Objects[key(e.Object)].Events}
	t.Objects[key(e.Object)] = o
}

// apply applies one event to the table. It reports whether the object has to be read again,
// because events before this one are missing.
func (t *table) apply(e contract.Lifecycle, sequence uint64) (gap bool) {
	t.Sequence = sequence
	k := key(e.Object)
	o := t.Objects[k]
	if e.Event == contract.EventDeleted {
		if o.UID == e.Object.UID {
			delete(t.Objects, k)
		}
		return false
	}
	if o.UID != e.Object.UID {
		o = object{UID: e.Object.UID}
	}
	o.Events++
	if e.Phase != nil && e.Phase.To != "" {
		o.Phase = e.Phase.To
	}
	if e.Conditions != nil {
		o.Conditions = statuses(e.Conditions)
	}
	if c := e.Condition; c != nil {
		if o.Conditions == nil {
			o.Conditions = map[string]string{}
		}
		o.Conditions[c.Type] = c.After.Status
	}
	t.Objects[k] = o
	return e.Gap
}

func statuses(conditions []contract.Condition) map[string]string {
	out := make(map[string]string, len(conditions))
	for _, c := range conditions {
		out[c.Type] = c.Status
	}
	return out
}

// load reads the table; nil means that there is none yet.
func load(file string) (*table, error) {
	raw, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // the first run
	}
	if err != nil {
		return nil, err
	}
	t := &table{}
	if err := json.Unmarshal(raw, t); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	if t.Objects == nil {
		t.Objects = map[string]object{}
	}
	return t, nil
}

// save replaces the file atomically: a reader, or the next run, gets the old or the new
// table, with the position that belongs to it.
func (t *table) save(file string) error {
	raw, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), ".resume-*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(raw)
	err = errors.Join(err, temporary.Sync(), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	return nil
}
