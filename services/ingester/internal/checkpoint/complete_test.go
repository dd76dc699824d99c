package checkpoint_test

import (
	"errors"
	"testing"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/checkpoint"
)

func TestComplete(t *testing.T) {
	advance := func(t *testing.T, k *checkpoint.Tracker) {
		t.Helper()
		if err := k.Advance(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		prepare   func(*testing.T, *server, *checkpoint.Tracker)
		namespace string
		want      bool
		err       error
	}{
		"nothing was evicted": {func(*testing.T, *server, *checkpoint.Tracker) {}, "home", true, nil},
		"equal":               {func(t *testing.T, _ *server, k *checkpoint.Tracker) { t.Helper(); advance(t, k) }, "home", true, nil},
		"the copy was deleted": {func(t *testing.T, s *server, k *checkpoint.Tracker) {
			t.Helper()
			advance(t, k)
			s.object = nil
		}, "home", false, nil},
		"the copy cannot be read": {func(_ *testing.T, s *server, _ *checkpoint.Tracker) { s.err = errForbidden }, "home", false, nil},
		"the copy cannot be written": {func(t *testing.T, s *server, k *checkpoint.Tracker) {
			t.Helper()
			s.writeErr = errForbidden
			advance(t, k)
		}, "home", false, nil},
		"no copy": {func(*testing.T, *server, *checkpoint.Tracker) {}, "", false, nil},
		"behind": {func(t *testing.T, s *server, k *checkpoint.Tracker) {
			t.Helper()
			advance(t, k)
			s.object.Data["number"] = "2"
		}, "home", false, checkpoint.ErrBehind},
		"the read fails": {func(_ *testing.T, s *server, _ *checkpoint.Tracker) { s.err = errBroke }, "home", false, errBroke},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{}
			k, cfg := newTracker(t, s, func(c *checkpoint.Config) { c.Cluster.Namespace = tc.namespace })
			tc.prepare(t, s, k)
			again, err := checkpoint.New(cfg) // without the numbers in memory
			if err != nil {
				t.Fatal(err)
			}
			if s.writeErr != nil {
				again = k // only a write shows the missing permission
			}
			if got, err := again.Complete(t.Context()); got != tc.want || !errors.Is(err, tc.err) {
				t.Errorf("complete %t, %v, want %t, %v", got, err, tc.want, tc.err)
			}
		})
	}
}

var errBroke = errors.New("the API server is unavailable")
