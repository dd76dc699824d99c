package contract

import "time"

// Heartbeat says that an observer is alive and connected.
type Heartbeat struct {
	Cluster         string    `json:"cluster"`
	Observer        Observer  `json:"observer"`
	Epoch           int64     `json:"epoch"`
	IntervalSeconds int       `json:"intervalSeconds"`
	SentAt          time.Time `json:"sentAt"`
	// Unacknowledged is how many subjects have a message of this observer that no stream
	// has confirmed yet. A reader that has just begun to listen knows by it whether the
	// observer still holds something back. Nil: the observer does not say (v1.0).
	Unacknowledged *int `json:"unacknowledged,omitempty"`
}
