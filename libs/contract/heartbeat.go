package contract

import "time"

// Heartbeat shows that an observer is alive and connected.
type Heartbeat struct {
	Cluster         string    `json:"cluster"`
	Observer        Observer  `json:"observer"`
	Epoch           int64     `json:"epoch"`
	IntervalSeconds int       `json:"intervalSeconds"`
	SentAt          time.Time `json:"sentAt"`
	// Unacknowledged is the number of subjects with a message of this observer that is not
	// acknowledged yet. It shows a new reader whether observations are pending. Nil means
	// that the observer does not report it (v1.0).
	Unacknowledged *int `json:"unacknowledged,omitempty"`
}
