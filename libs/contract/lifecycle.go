package contract

import "time"

// LifecycleEvent is the last token of a lifecycle subject. The list is closed.
type LifecycleEvent string

// Lifecycle events. Those of a condition come in pairs, one for each direction.
const (
	EventAvailable     LifecycleEvent = "available"
	EventUnavailable   LifecycleEvent = "unavailable"
	EventProgressing   LifecycleEvent = "progressing"
	EventSettled       LifecycleEvent = "settled" // Progressing went False
	EventDegraded      LifecycleEvent = "degraded"
	EventRecovered     LifecycleEvent = "recovered"
	EventUpgradable    LifecycleEvent = "upgradable"
	EventNotUpgradable LifecycleEvent = "notupgradable"
	EventPaused        LifecycleEvent = "paused"
	EventResumed       LifecycleEvent = "resumed"
	EventStopped       LifecycleEvent = "stopped"
	EventStarted       LifecycleEvent = "started"
	EventKnown         LifecycleEvent = "known"    // Degraded, Paused or Stopped is False for the first time and was never True
	EventUnknown       LifecycleEvent = "unknown"  // a condition went Unknown
	EventPhase         LifecycleEvent = "phase"    // status.transitions grew by one entry
	EventSnapshot      LifecycleEvent = "snapshot" // first observation of an object, or of one whose history was lost
	EventGap           LifecycleEvent = "gap"      // events are missing that could not be delivered
	EventDeleted       LifecycleEvent = "deleted"
)

var lifecycleEvents = map[LifecycleEvent]bool{
	EventAvailable: true, EventUnavailable: true, EventProgressing: true, EventSettled: true,
	EventDegraded: true, EventRecovered: true, EventUpgradable: true, EventNotUpgradable: true,
	EventPaused: true, EventResumed: true, EventStopped: true, EventStarted: true,
	EventKnown: true, EventUnknown: true, EventPhase: true, EventSnapshot: true, EventGap: true, EventDeleted: true,
}

// Valid reports whether the event is in the closed list.
func (e LifecycleEvent) Valid() bool { return lifecycleEvents[e] }

// Lifecycle is one entry of an object's public history.
//
// Delivery is at least once, with unique ids, in order for each object. One event with
// Gap set stands for those that could not be delivered.
type Lifecycle struct {
	Object Object         `json:"object"`
	Event  LifecycleEvent `json:"event"`
	// Condition is set on the events of a condition.
	Condition *ConditionChange `json:"condition,omitempty"`
	// Phase is set on phase events and on the snapshot.
	Phase *PhaseChange `json:"phase,omitempty"`
	// Conditions is set on the snapshot: all current conditions.
	Conditions []Condition `json:"conditions,omitempty"`
	// Gap is true when events before this one are missing from the history.
	Gap bool `json:"gap,omitempty"`
	// Message describes what is missing, or why, for users.
	Message string `json:"message,omitempty"`
}

// Condition is a Kubernetes status condition without importing Kubernetes.
type Condition struct {
	Type               string    `json:"type"`
	Status             string    `json:"status"` // True, False or Unknown
	Reason             string    `json:"reason"`
	Message            string    `json:"message,omitempty"`
	ObservedGeneration int64     `json:"observedGeneration,omitempty"`
	LastTransitionTime time.Time `json:"lastTransitionTime"`
}

// ConditionChange is one transition of one condition.
type ConditionChange struct {
	Type   string     `json:"type"`
	Before *Condition `json:"before,omitempty"` // nil for the first one
	After  Condition  `json:"after"`
}

// PhaseChange is one entry of status.transitions.
type PhaseChange struct {
	Seq     int64     `json:"seq"`
	Time    time.Time `json:"time"`
	From    string    `json:"from"`
	To      string    `json:"to"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
}

// StatusEntry is the value of an object's key in the status bucket: its latest
// conditions, and their provenance.
type StatusEntry struct {
	Object     Object      `json:"object"`
	Phase      string      `json:"phase,omitempty"`
	Conditions []Condition `json:"conditions"`
	Provenance *Provenance `json:"provenance,omitempty"` // nil before the first observation
	// LastTransitionSeq is the newest entry of status.transitions that was published.
	LastTransitionSeq int64     `json:"lastTransitionSeq"`
	DeployedVersion   string    `json:"deployedVersion,omitempty"`
	UpdatedAt         time.Time `json:"updatedAt"`
	// Memory is the state of the computation between two observations, opaque to readers.
	Memory []byte `json:"memory,omitempty"`
}

// Provenance identifies the observation behind a status entry.
type Provenance struct {
	Observer       Observer  `json:"observer"`
	Epoch          int64     `json:"epoch"`
	Seq            uint64    `json:"seq"`
	StreamSequence uint64    `json:"streamSequence"`
	ReceivedAt     time.Time `json:"receivedAt"`
	Evidence       []string  `json:"evidence,omitempty"`
	// Held is the change of a condition that a hold-down delays; nil: none.
	Held *Held `json:"held,omitempty"`
}

// Held is a condition as it would be without damping.
type Held struct {
	Type   string    `json:"type"`
	Status string    `json:"status"`
	Since  time.Time `json:"since"` // start of the hold-down; time without a failure counts in part
	Until  time.Time `json:"until"` // end of the hold-down, if nothing changes before
}
