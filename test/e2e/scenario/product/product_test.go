package product

import (
	"testing"

	"github.com/flotilla-dev/flotilla/test/e2e/load"
)

func TestFirstLoginsHaveBound(t *testing.T) {
	for name, c := range map[string]struct {
		figures load.Figures
		ok      bool
	}{
		"as in CI":      {load.Figures{Phase: steady, LongestGap: 26.7}, true},
		"longer":        {load.Figures{Phase: steady, LongestGap: 60.1}, false},
		"another phase": {load.Figures{Phase: "upgrade", LongestGap: 60.1}, true},
	} {
		if err := checkLogins([]load.Figures{c.figures}); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := checkLogins(nil); err != nil {
		t.Error(err)
	}
}
