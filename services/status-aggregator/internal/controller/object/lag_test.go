package object

import (
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
)

func TestLags(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tc := range map[string]struct {
		cached, observed string
		age              time.Duration
		retained         bool
		want             bool
	}{
		"an older version":                       {cached: "99", observed: "100", want: true},
		"until the limit":                        {cached: "99", observed: "100", age: maxLag - 1, want: true},
		"no longer: the cluster may be restored": {cached: "99", observed: "100", age: maxLag},
		"an observation from before an outage":   {cached: "99", observed: "100", retained: true},
		"the same version":                       {cached: "100", observed: "100"},
		"a newer version":                        {cached: "101", observed: "100"},
		"an observer that publishes no version":  {cached: "99"},
		"a version without order":                {cached: "99", observed: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			received := model.Received{ReceivedAt: now.Add(-tc.age), Live: !tc.retained}
			received.Observation.Object = contract.Object{ResourceVersion: tc.observed}
			if got := lags(tc.cached, received, now); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
