package conditions

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// FieldManager owns the six conditions, and Ready where it is written, on every
// managed object, whichever process writes them.
const FieldManager = "flotilla-conditions"

// LeaseName is the Lease whose holder writes the conditions of all objects. While
// nobody renews it each operator writes those of its own objects.
const LeaseName = "flotilla-conditions"

// Condition types. The first six are those of ADR027.
const (
	TypeAvailable   = "Available"   // users' requests can be served
	TypeProgressing = "Progressing" // on the way from one steady state to another
	TypeDegraded    = "Degraded"    // something is wrong and has been for a while
	TypeUpgradable  = "Upgradable"  // an upgrade may begin; treat Unknown as no
	TypePaused      = "Paused"      // the user asked not to reconcile
	TypeStopped     = "Stopped"     // the user asked for no pods, and the last one is gone
	TypeReady       = "Ready"       // summary: Available is True and Degraded is not True
)

// Hold-downs of Degraded; all other types are published at once.
const (
	// MissingReplicasHold is how long replicas may be missing outside a rollout
	// before Degraded goes True.
	MissingReplicasHold = 120 * time.Second
	// RecoveryHold is how long the trouble must be gone before Degraded goes False.
	RecoveryHold = 30 * time.Second
)

// Freshness says how far an observation may be believed.
type Freshness int

// Degrees of freshness.
const (
	Fresh         Freshness = iota // the observer is heard
	ObserverStale                  // the bus is heard, the observer is not
	NeverObserved                  // no observation was ever received
)

// Input is all that [Fold] reads.
type Input struct {
	// Observation is the newest one; nil when there was none.
	Observation *contract.Observation
	// Generation is metadata.generation of the object as it is now; it may be ahead of the observation's.
	Generation int64
	// Deleting is true when the object carries a deletion timestamp.
	Deleting  bool
	Freshness Freshness
	// Now is the time of the fold.
	Now time.Time
	// Previous are the conditions that the object carries; types that Fold does not own are ignored.
	Previous []metav1.Condition
	// Memory is what the last Fold for this object returned; the zero value is a fresh start.
	Memory Memory
	// WithReady asks for the summary Ready too.
	WithReady bool
}

// Result is the answer of [Fold].
type Result struct {
	// Conditions has one entry for each type, in the order of the Type constants.
	Conditions []metav1.Condition
	// Memory is to be handed to the next Fold for the same object.
	Memory Memory
	// Next is when a hold-down ends; the zero time when nothing is pending.
	Next time.Time
	// Evidence are the findings behind the answer, most telling first, at most [MaxEvidence] of them.
	Evidence []string
}

// Memory is what damping must remember between two folds. It is plain JSON, so that
// it survives a restart; losing it only restarts a hold-down.
type Memory struct {
	// UID is the incarnation of the object that the memory is about.
	UID string `json:"uid,omitempty"`
	// BadSince is since when a finding that needs a hold-down has lasted without a break.
	BadSince *time.Time `json:"badSince,omitempty"`
	// GoodSince is since when there has been no finding while Degraded is published as True.
	GoodSince *time.Time `json:"goodSince,omitempty"`
}
