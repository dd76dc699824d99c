package writer_test

import (
	"testing"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
)

// step is one write and its expected outcome.
type step struct {
	uid     string
	version int64
	state   record.State
	want    writer.Outcome
}

// sequence is a sequence of writes, with the rows and events afterwards.
type sequence struct {
	steps  []step
	rows   []string
	events []string
}

func checkSequences(t *testing.T, cases map[string]sequence) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			db, _ := dbtest.Migrated(t)
			w := newWriter(t, db)
			for i, s := range tc.steps {
				if got := write(t, w, model(t, "m", s.uid, s.version, s.state)); got != s.want {
					t.Errorf("step %d, %s at %d: %s, want %s", i, s.uid, s.version, got, s.want)
				}
			}
			equal(t, "rows", tc.rows, rows(t, db))
			equal(t, "events", tc.events, events(t, db))
		})
	}
}

func TestHistories(t *testing.T) {
	checkSequences(t, map[string]sequence{
		"created, updated, the same again, deleted, deleted again": {
			steps: []step{
				{"a", 1, record.Live, writer.Created},
				{"a", 2, record.Live, writer.Updated},
				{"a", 2, record.Live, writer.Unchanged},
				{"a", 3, record.Closed, writer.Deleted},
				{"a", 3, record.Closed, writer.Unchanged},
				{"a", 2, record.Closed, writer.Unchanged},
			},
			rows:   []string{"a 1 3 closed algorithm-3"},
			events: []string{"a 1 created", "a 2 updated", "a 3 deleted"},
		},
		"a stale version never wins": {
			steps: []step{
				{"a", 5, record.Live, writer.Created},
				{"a", 4, record.Live, writer.Stale},
				{"a", 4, record.Closed, writer.Stale},
				{"a", 4, record.Evicted, writer.Stale},
			},
			rows:   []string{"a 1 5 live algorithm-5"},
			events: []string{"a 5 created"},
		},
		"versions are numbers, not text": {
			steps:  []step{{"a", 9, record.Live, writer.Created}, {"a", 10, record.Live, writer.Updated}},
			rows:   []string{"a 1 10 live algorithm-10"},
			events: []string{"a 9 created", "a 10 updated"},
		},
		"the version that is stored already can be closed": {
			steps:  []step{{"a", 5, record.Live, writer.Created}, {"a", 5, record.Closed, writer.Deleted}, {"a", 5, record.Live, writer.Unconfirmed}},
			rows:   []string{"a 1 5 closed algorithm-5"},
			events: []string{"a 5 created", "a 5 deleted"},
		},
		"an object that was never stored is stored and closed at once": {
			steps:  []step{{"a", 5, record.Closed, writer.Deleted}},
			rows:   []string{"a 1 5 closed algorithm-5"},
			events: []string{"a 5 deleted"},
		},
	})
}

func TestHistoriesOfClosedObjects(t *testing.T) {
	checkSequences(t, map[string]sequence{
		"an object that changes while others hold it back is stored to its end": {
			steps: []step{
				{"a", 3, record.Closed, writer.Deleted},
				{"a", 5, record.Closed, writer.Amended},
				{"a", 4, record.Live, writer.Stale},
			},
			rows:   []string{"a 1 5 closed algorithm-5"},
			events: []string{"a 3 deleted"},
		},
		"a closed object that a cache shows stays closed": {
			steps:  []step{{"a", 5, record.Closed, writer.Deleted}, {"a", 4, record.Live, writer.Stale}, {"a", 6, record.Live, writer.Unconfirmed}},
			rows:   []string{"a 1 5 closed algorithm-5"},
			events: []string{"a 5 deleted"},
		},
		"a closed object that the API server returns is restored": {
			steps: []step{
				{"a", 5, record.Closed, writer.Deleted},
				{"a", 4, record.Confirmed, writer.Stale},
				{"a", 5, record.Confirmed, writer.Restored},
				{"a", 5, record.Confirmed, writer.Unchanged},
				{"a", 6, record.Closed, writer.Deleted},
				{"a", 7, record.Confirmed, writer.Restored},
			},
			rows:   []string{"a 1 7 live algorithm-7"},
			events: []string{"a 5 deleted", "a 5 restored", "a 6 deleted", "a 7 restored"},
		},
	})
}

func TestHistoriesOfEvictedRows(t *testing.T) {
	checkSequences(t, map[string]sequence{
		"an evicted row stays live and takes newer content": {
			steps: []step{
				{"a", 5, record.Live, writer.Created},
				{"a", 5, record.Evicted, writer.Evicted},
				{"a", 5, record.Evicted, writer.Unchanged},
				{"a", 6, record.Evicted, writer.Evicted},
				{"a", 7, record.Released, writer.Evicted},
				{"a", 6, record.Released, writer.Unchanged},
			},
			rows:   []string{"a 1 7 live evicted algorithm-7"},
			events: []string{"a 5 created", "a 5 evicted", "a 6 evicted", "a 7 evicted"},
		},
		"a closed row stays closed when its object is marked": {
			steps: []step{
				{"a", 5, record.Closed, writer.Deleted},
				{"a", 6, record.Evicted, writer.Unconfirmed},
				{"a", 7, record.Released, writer.Amended},
			},
			rows:   []string{"a 1 7 closed algorithm-7"},
			events: []string{"a 5 deleted"},
		},
		"what only others hold was not evicted": {
			steps: []step{
				{"a", 5, record.Live, writer.Created},
				{"a", 6, record.Released, writer.Deleted},
				{"b", 7, record.Released, writer.NotFound},
			},
			rows:   []string{"a 1 6 closed algorithm-6"},
			events: []string{"a 5 created", "a 6 deleted"},
		},
	})
}

func TestHistoriesOfReusedNames(t *testing.T) {
	checkSequences(t, map[string]sequence{
		"a new object of the same name closes the old one": {
			steps:  []step{{"old", 5, record.Live, writer.Created}, {"new", 9, record.Live, writer.Created}},
			rows:   []string{"new 1 9 live algorithm-9", "old 1 5 closed algorithm-5"},
			events: []string{"old 5 created", "old 5 deleted", "new 9 created"},
		},
		"an old object that is seen late does not take the name back": {
			steps:  []step{{"new", 9, record.Live, writer.Created}, {"old", 5, record.Live, writer.Superseded}},
			rows:   []string{"new 1 9 live algorithm-9", "old 1 5 closed algorithm-5"},
			events: []string{"new 9 created", "old 5 deleted"},
		},
		"a new object takes the name of an evicted one": {
			steps:  []step{{"old", 5, record.Evicted, writer.Evicted}, {"new", 9, record.Live, writer.Created}},
			rows:   []string{"new 1 9 live algorithm-9", "old 1 5 closed evicted algorithm-5"},
			events: []string{"old 5 evicted", "old 5 deleted", "new 9 created"},
		},
	})
}
