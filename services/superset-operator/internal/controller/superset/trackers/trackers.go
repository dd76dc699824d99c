// Package trackers holds in-memory state between reconciles. Losing it in a restart is safe.
package trackers

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/optional"
)

// Errors tracks since when, and with which error, the reconciles of a Superset fail.
type Errors struct {
	mu      sync.Mutex
	start   map[types.NamespacedName]time.Time
	message map[types.NamespacedName]string
}

// NewErrors returns an empty tracker.
func NewErrors() *Errors {
	return &Errors{start: map[types.NamespacedName]time.Time{}, message: map[types.NamespacedName]string{}}
}

// FailingSince returns when the failure began; nil if the last reconcile succeeded.
func (t *Errors) FailingSince(sup *v1alpha1.Superset, failed bool, now time.Time) *time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := client.ObjectKeyFromObject(sup)
	if !failed {
		delete(t.start, key)
		return nil
	}
	start, found := t.start[key]
	if !found {
		start = now.Truncate(time.Second)
		t.start[key] = start
	}
	return &start
}

// Changed reports whether the error differs from that of the previous reconcile.
func (t *Errors) Changed(sup *v1alpha1.Superset, err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := client.ObjectKeyFromObject(sup)
	if err == nil {
		delete(t.message, key)
		return false
	}
	before := t.message[key]
	t.message[key] = err.Error()
	return before != err.Error()
}

// Forget drops the state of a Superset.
func (t *Errors) Forget(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.start, key)
	delete(t.message, key)
}

// MissingKinds tracks for which generation of a Superset a missing kind was reported, so that each is reported once.
type MissingKinds struct {
	mu       sync.Mutex
	reported map[types.NamespacedName]map[string]version
}

// version is one generation of one object.
type version struct {
	uid        types.UID
	generation int64
}

// NewMissingKinds returns an empty tracker.
func NewMissingKinds() *MissingKinds {
	return &MissingKinds{reported: map[types.NamespacedName]map[string]version{}}
}

// ShouldReport reports whether the missing kind still has to be reported for this generation.
func (m *MissingKinds) ShouldReport(sup *v1alpha1.Superset, d optional.CRD) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	key, now := client.ObjectKeyFromObject(sup), version{sup.UID, sup.Generation}
	if m.reported[key] == nil {
		m.reported[key] = map[string]version{}
	}
	before := m.reported[key][d.Name()]
	m.reported[key][d.Name()] = now
	return before != now
}

// SetServed records that the kind is served, so that it is reported again if it is removed.
func (m *MissingKinds) SetServed(sup *v1alpha1.Superset, d optional.CRD) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.reported[client.ObjectKeyFromObject(sup)], d.Name())
}

// Forget drops the state of a Superset.
func (m *MissingKinds) Forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.reported, key)
}
