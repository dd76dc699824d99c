package verify

import (
	"database/sql"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
)

func TestDiff(t *testing.T) {
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	at := sql.NullTime{Time: now, Valid: true}
	held := object{version: 7, finalizer: true}
	terminating := object{version: 7, finalizer: true, terminating: now.Add(-time.Minute)}
	released := object{version: 7, terminating: now.Add(-time.Hour)}
	live := rows.Row{ResVersion: 7, Incarnation: 2}
	with := func(change func(*rows.Row)) *rows.Row {
		r := live
		change(&r)
		return &r
	}
	closed := with(func(r *rows.Row) { r.DeleteTime = at })
	evicted := with(func(r *rows.Row) { r.EvictTime = at })
	tests := map[string]struct {
		object *object
		row    *rows.Row
		want   []DifferenceType
	}{
		"the same":                                    {&held, &live, nil},
		"nothing and nothing":                         {nil, nil, nil},
		"an object without a row":                     {&held, nil, []DifferenceType{Missing}},
		"a row without an object":                     {nil, &live, []DifferenceType{Orphan}},
		"a closed row without an object":              {nil, closed, nil},
		"an evicted row without an object":            {nil, evicted, nil},
		"a closed row with an object":                 {&held, closed, []DifferenceType{Closed}},
		"an evicted row with an object":               {&held, evicted, []DifferenceType{Evicted}},
		"an older version":                            {&held, with(func(r *rows.Row) { r.ResVersion = 6 }), []DifferenceType{Stale}},
		"an older incarnation":                        {&held, with(func(r *rows.Row) { r.Incarnation, r.ResVersion = 1, 100 }), []DifferenceType{Stale}},
		"a newer version":                             {&held, with(func(r *rows.Row) { r.ResVersion = 8 }), []DifferenceType{Ahead}},
		"a newer incarnation":                         {&held, with(func(r *rows.Row) { r.Incarnation, r.ResVersion = 3, 1 }), []DifferenceType{Ahead}},
		"no finalizer":                                {&object{version: 7}, &live, []DifferenceType{Finalizer}},
		"no finalizer and no row":                     {&object{version: 7}, nil, []DifferenceType{Missing, Finalizer}},
		"waiting for us":                              {&terminating, &live, nil},
		"waiting for us for long":                     {&object{version: 7, finalizer: true, terminating: now.Add(-time.Hour)}, &live, []DifferenceType{Terminating}},
		"held by a foreign finalizer, closed":         {&released, closed, nil},
		"held by a foreign finalizer, evicted":        {&released, evicted, nil},
		"held by a foreign finalizer, evicted before": {&released, with(func(r *rows.Row) { r.EvictTime, r.ResVersion = at, 6 }), []DifferenceType{Stale}},
		"held by a foreign finalizer, purged":         {&released, nil, nil},
		"held by a foreign finalizer, but still live": {&released, &live, []DifferenceType{Stale}},
		"waiting for us with a row that is closed":    {&terminating, closed, []DifferenceType{Closed}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []DifferenceType
			for _, f := range diff(tc.object, tc.row, expectation{incarnation: 2, minVersion: 7, overdue: now.Add(-10 * time.Minute)}) {
				got = append(got, f.diffType)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A row that reached the version of the first list is not stale, regardless of the object's current version.
func TestDiffIgnoresRowThatCatchesUp(t *testing.T) {
	o := object{version: 90, finalizer: true}
	for version, want := range map[int64]int{6: 1, 7: 0, 8: 0, 90: 0, 91: 1} {
		got := diff(&o, &rows.Row{ResVersion: version, Incarnation: 2}, expectation{incarnation: 2, minVersion: 7})
		if len(got) != want {
			t.Errorf("version %d: %v, want %d findings", version, got, want)
		}
	}
}
