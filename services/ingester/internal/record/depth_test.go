package record_test

import (
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
)

func TestDeepest(t *testing.T) {
	cases := map[string]struct {
		document, path string
		levels         int
	}{
		"a scalar":           {`1`, "", 0},
		"an empty object":    {`{}`, "", 1},
		"a field":            {`{"a":1}`, "a", 1},
		"the deeper of two":  {`{"a":{"b":1},"c":{"d":{"e":null}}}`, "c.d.e", 3},
		"a list":             {`{"a":[1,[2,{"b":"x"}]]}`, "a[1][1].b", 4},
		"the first of equal": {`{"b":{"x":1},"a":{"y":2}}`, "a.y", 2},
		"an empty list":      {`{"a":{"b":[]}}`, "a.b", 3},
		"many":               {strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40), strings.TrimSuffix(strings.Repeat("a.", 40), "."), 40},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path, levels, err := record.Deepest(tc.document)
			if err != nil || path != tc.path || levels != tc.levels {
				t.Errorf("got %q, %d, %v; want %q, %d", path, levels, err, tc.path, tc.levels)
			}
		})
	}
	if _, _, err := record.Deepest("{"); err == nil {
		t.Error("broken JSON has a deepest value")
	}
}
