package statusapi

import (
	"time"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Paths of the API. A {kind} is a token of the contract, for example "superset".
const (
	PathResources = "/api/v1/resources"                            // ResourceList
	PathResource  = "/api/v1/namespaces/{namespace}/{kind}/{name}" // ResourceDetail
	PathEvents    = "/api/v1/events"                               // server-sent events, data is a CloudEvent of a contract.Lifecycle
	PathOpenAPI   = "/api/v1/openapi.yaml"
	PathPage      = "/"
)

// Parameters of a query.
const (
	ParamNamespace = "namespace" // of all but one resource; empty means every one that the caller may read
	ParamKind      = "kind"      // a token of the contract
	ParamName      = "name"      // of events
	ParamCondition = "condition" // of resources: Type or Type=Status, for example Degraded=True; may be repeated
	ParamLimit     = "limit"     // of resources, 1 to 1000, default 500; of one resource the events of its history, 1 to 500, default 100
	ParamContinue  = "continue"  // of resources: the token of the page before
	// ParamSince of events: a stream sequence to resume after, when the Last-Event-ID header cannot be set.
	ParamSince = "since"
)

// Resource is the known state of one managed object.
type Resource struct {
	Cluster string          `json:"cluster"`
	Kind    contract.Kind   `json:"kind"` // the token, as in paths and subjects
	Object  contract.Object `json:"object"`
	Phase   string          `json:"phase,omitempty"`
	// DeployedVersion is the running version, as its operator reports it.
	DeployedVersion string `json:"deployedVersion,omitempty"`
	// Conditions are all conditions of the object, including those of its operator.
	Conditions []contract.Condition `json:"conditions"`
	// UpdatedAt is when the aggregator last changed the conditions; nil if it has not written any for this object.
	UpdatedAt *time.Time `json:"updatedAt,omitempty"`
}

// ResourceList is a page of resources, ordered by namespace, kind and name.
type ResourceList struct {
	Items []Resource `json:"items"`
	// Continue is the token of the next page, empty on the last.
	Continue string `json:"continue,omitempty"`
}

// ResourceDetail is the full known state of one object.
type ResourceDetail struct {
	Resource Resource `json:"resource"`
	// Provenance identifies the observation behind the conditions; nil before the first one.
	Provenance *contract.Provenance `json:"provenance,omitempty"`
	// Observation is the newest one on the bus; nil when there is none.
	Observation *contract.Observation `json:"observation,omitempty"`
	// History holds the newest lifecycle events of this incarnation, oldest first.
	History []HistoryEvent `json:"history"`
	// HistoryTruncated is true when the stream holds older ones.
	HistoryTruncated bool `json:"historyTruncated,omitempty"`
	// Incomplete describes the data that is missing because the bus is unavailable; empty if the response is complete.
	Incomplete string `json:"incomplete,omitempty"`
}

// HistoryEvent is one lifecycle event with its position in the stream.
type HistoryEvent struct {
	// Sequence is its position in the stream FLOTILLA_LIFECYCLE: the id of the event in /api/v1/events.
	Sequence uint64    `json:"sequence"`
	ID       string    `json:"id"`
	Time     time.Time `json:"time"`
	contract.Lifecycle
}

// Error is the body of every response that is not a success.
type Error struct {
	// Code is one of BadRequest, Unauthorized, Forbidden, NotFound, MethodNotAllowed, Gone,
	// TooManyRequests, Unavailable, Internal.
	Code    string `json:"code"`
	Message string `json:"message"`
}
