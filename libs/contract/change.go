package contract

import "time"

// ChangeOperation is the last token of a change subject. The list is closed.
type ChangeOperation string

// Operations on a stored object.
const (
	ChangeCreated  ChangeOperation = "created"
	ChangeUpdated  ChangeOperation = "updated"
	ChangeDeleted  ChangeOperation = "deleted"  // soft-deleted: the row stays, closed
	ChangeEvicted  ChangeOperation = "evicted"  // removed from the cluster on request, live in MySQL
	ChangeRestored ChangeOperation = "restored" // a closed row is live again
)

// Valid reports whether the operation is in the closed list.
func (o ChangeOperation) Valid() bool {
	switch o {
	case ChangeCreated, ChangeUpdated, ChangeDeleted, ChangeEvicted, ChangeRestored:
		return true
	}
	return false
}

// Change is one committed write of the ingester. It names the object
// and the operation; readers get the content from MySQL or the cluster.
type Change struct {
	Object    Object          `json:"object"`
	Operation ChangeOperation `json:"operation"`
	// OutboxID orders the changes of one database.
	OutboxID    int64     `json:"outboxId"`
	CommittedAt time.Time `json:"committedAt"`
}
