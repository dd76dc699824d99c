package faults

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

const (
	clusterName  = "sim"
	observerName = "engine-operator"
	namespace    = "team-a"
)

// message is a message of a stream.
type message struct {
	sequence uint64
	name     string
	o        contract.Observation
}

// entry is a value in the bucket.
type entry struct {
	revision uint64
	value    []byte
}

// simulation is the shared environment of the processes: the API server, the bus, the clock.
type simulation struct {
	random *rand.Rand
	clock  *clocktesting.FakePassiveClock
	kind   registry.Kind
	kinds  registry.Set

	actual  map[string]*actualState
	objects map[string]*unstructured.Unstructured // as the API server has them
	version int64
	uids    int
	apiUp   bool

	busUp            bool
	streamGeneration int // number of times the streams were lost
	session          int // number of reconnects to the bus
	sequence         uint64
	last             map[string]message // observations, by subject
	log              []message          // all messages of this stream generation, for redeliveries
	heartbeat        struct {
		sequence uint64
		epoch    int64
		holding  bool // some messages of the operator are pending
	}
	bucket   map[contract.Ref]entry
	revision uint64
	lease    struct {
		holder  string
		renewed time.Time
	}

	observedAt    map[types.UID]time.Time // ObservedAt of the observation behind the conditions
	lastHeartbeat time.Time               // of life of the operator
	conflicts     int                     // writes that were rejected because another client wrote first
	violations    []string
}

func newSimulation(seed uint64) (*simulation, error) {
	kinds, err := registry.Managed()
	if err != nil {
		return nil, err
	}
	kind, _ := kinds.Lookup(contract.FireboltEngine)
	return &simulation{
		random:  rand.New(rand.NewPCG(seed, 1)), // reproducible
		clock:   clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
		kind:    kind,
		kinds:   kinds,
		actual:  map[string]*actualState{},
		objects: map[string]*unstructured.Unstructured{},
		apiUp:   true, busUp: true,
		last:       map[string]message{},
		observedAt: map[types.UID]time.Time{},
		bucket:     map[contract.Ref]entry{},
	}, nil
}

// chance returns true with a probability of n percent.
func (w *simulation) chance(n int) bool { return w.random.IntN(100) < n }

func (w *simulation) now() time.Time { return w.clock.Now() }

func (w *simulation) reportViolation(format string, args ...any) {
	w.violations = append(w.violations, fmt.Sprintf(format, args...))
}

func ref(name string) contract.Ref {
	return contract.Ref{Cluster: clusterName, Namespace: namespace, Kind: contract.FireboltEngine, Name: name}
}

func (w *simulation) create(name string) {
	w.uids++
	w.actual[name] = &actualState{uid: types.UID(fmt.Sprintf("uid-%d", w.uids)), generation: 1, applied: 1, outcome: succeeded}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(w.kind.GVK)
	u.SetNamespace(namespace)
	u.SetName(name)
	u.SetUID(w.actual[name].uid)
	u.SetGeneration(1)
	w.store(u)
}

func (w *simulation) remove(name string) {
	delete(w.actual, name)
	delete(w.objects, name)
	w.version++
}

// store writes an object and sets its resource version.
func (w *simulation) store(u *unstructured.Unstructured) {
	w.version++
	u.SetResourceVersion(fmt.Sprint(w.version))
	w.objects[u.GetName()] = u
}

// publish stores an observation.
func (w *simulation) publish(name string, o contract.Observation) {
	w.sequence++
	m := message{w.sequence, name, o}
	w.last[name] = m
	w.log = append(w.log, m)
	w.lastHeartbeat = w.now()
}

// loseStreams deletes all data of the bus.
func (w *simulation) loseStreams() {
	w.streamGeneration++
	w.sequence, w.revision = 0, 0
	w.last, w.log = map[string]message{}, nil
	w.bucket = map[contract.Ref]entry{}
	w.heartbeat.sequence, w.heartbeat.epoch = 0, 0
}

// apply simulates a write of conditions in the API server: it rejects a write that is
// based on another version of the object.
func (w *simulation) apply(writer string, current *unstructured.Unstructured, conditions []metav1.Condition, observedAt time.Time) (changed, stale bool, err error) {
	live := w.objects[current.GetName()]
	if live == nil || live.GetUID() != current.GetUID() || live.GetResourceVersion() != current.GetResourceVersion() {
		w.conflicts++
		return false, true, nil
	}
	before, err := conditionsOf(live)
	if err != nil {
		return false, false, err
	}
	if cmp.Equal(before, conditions) {
		return false, false, nil
	}
	w.compare(writer, live, before, conditions)
	if last := w.observedAt[live.GetUID()]; conditions[0].Status != metav1.ConditionUnknown {
		if observedAt.Before(last) {
			w.reportViolation("B2: at %s %s wrote conditions of %s from %s, after conditions from %s",
				w.now().Format(time.TimeOnly), writer, live.GetName(), observedAt.Format(time.TimeOnly), last.Format(time.TimeOnly))
		}
		w.observedAt[live.GetUID()] = observedAt
	}
	u := live.DeepCopy()
	if err := setConditions(u, conditions); err != nil {
		return false, false, err
	}
	w.store(u)
	return true, false, nil
}

// holder is the part of a status that contains conditions.
type holder struct {
	Conditions []metav1.Condition `json:"conditions"`
}

func conditionsOf(u *unstructured.Unstructured) ([]metav1.Condition, error) {
	status, ok := u.Object["status"]
	if !ok {
		return nil, nil
	}
	raw, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	var h holder
	err = json.Unmarshal(raw, &h)
	return h.Conditions, err
}

func setConditions(u *unstructured.Unstructured, conditions []metav1.Condition) error {
	raw, err := json.Marshal(holder{conditions})
	if err != nil {
		return err
	}
	var status map[string]any
	if err := json.Unmarshal(raw, &status); err != nil {
		return err
	}
	u.Object["status"] = status
	return nil
}
