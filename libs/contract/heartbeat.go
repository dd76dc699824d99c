package contract

import "time"

// Heartbeat says that an observer is alive and connected.
type Heartbeat struct {
	Cluster         string    `json:"cluster"`
	Observer        Observer  `json:"observer"`
	Epoch           int64     `json:"epoch"`
	IntervalSeconds int       `json:"intervalSeconds"`
	SentAt          time.Time `json:"sentAt"`
}
