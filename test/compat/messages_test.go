package compat

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/test/compat/frozen"
)

// decoders decode the messages of a family with the current code and encode them again.
var decoders = map[string]func([]byte) ([]byte, error){
	frozen.Observation: reencode[contract.Observation],
	frozen.Heartbeat:   reencode[contract.Heartbeat],
	frozen.Lifecycle:   reencode[contract.Lifecycle],
	frozen.Change:      reencode[contract.Change],
	frozen.Entry: func(raw []byte) ([]byte, error) {
		var e contract.StatusEntry
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, err
		}
		return json.Marshal(e)
	},
}

func reencode[P contract.Payload](message []byte) ([]byte, error) {
	event, payload, err := contract.Decode[P](message)
	if err != nil {
		return nil, err
	}
	return contract.Encode(event, payload)
}

// The current release reads messages of the previous one.
func TestPreviousMessagesDecodeInFull(t *testing.T) {
	for _, r := range releases(t) {
		for family, decode := range decoders {
			for name, message := range read(t, r, frozen.Messages, family+"-") {
				t.Run(filepath.Base(r.Dir)+"/"+name, func(t *testing.T) {
					now, err := decode(message)
					if err != nil {
						t.Fatal(err)
					}
					for _, what := range removed(parse(t, message), parse(t, now), "") {
						t.Errorf("lost %s", what)
					}
				})
			}
		}
	}
}

// The previous release reads messages of the current one: its messages, encoded by the current code, match its schemas.
func TestCurrentMessagesMatchPreviousSchemas(t *testing.T) {
	for _, r := range releases(t) {
		schemas := read(t, r, frozen.Schemas, "")
		for family, decode := range decoders {
			for name, message := range read(t, r, frozen.Messages, family+"-") {
				t.Run(filepath.Base(r.Dir)+"/"+name, func(t *testing.T) {
					now, err := decode(message)
					if err != nil {
						t.Fatal(err)
					}
					if family == frozen.Entry {
						valid(t, schemas["statusentry.v1.json"], now)
						return
					}
					valid(t, schemas["event.v1.json"], now)
					event, err := contract.DecodeEnvelope(now)
					if err != nil {
						t.Fatal(err)
					}
					valid(t, schemas[strings.TrimPrefix(event.Type, "dev.flotilla.")+".json"], event.Data)
				})
			}
		}
	}
}

func valid(t *testing.T, schema, value []byte) {
	t.Helper()
	if err := schemaError(t, schema, value); err != nil {
		t.Error(err)
	}
}

// Two releases that write conditions at the same time, one as the aggregator and one as an
// operator, must compute the same conditions from the same observation.
func TestObservationsComputeSameConditions(t *testing.T) {
	for _, r := range releases(t) {
		folds, err := r.Folds()
		if err != nil {
			t.Fatal(err)
		}
		observations := read(t, r, frozen.Messages, frozen.Observation+"-")
		if len(folds) != len(observations) {
			t.Errorf("%s: %d folds of %d observations", r.Dir, len(folds), len(observations))
		}
		for name, message := range observations {
			t.Run(filepath.Base(r.Dir)+"/"+name, func(t *testing.T) {
				now, err := frozen.Of(message)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(intended(folds[name]), now); diff != "" {
					t.Errorf("conditions (-previous +now):\n%s", diff)
				}
			})
		}
	}
}

// intended applies intended changes to conditions of an earlier release: an object that was
// paused before its first rollout kept Degraded=Unknown.
func intended(was frozen.Fold) frozen.Fold {
	out := maps.Clone(was)
	if out["Paused"] == "True/ReconciliationPaused" && out["Degraded"] == "Unknown/SpecNotObserved" {
		out["Degraded"] = "False/ReconciliationPaused"
	}
	return out
}

// An upgraded aggregator continues from the bucket of the previous release without changing conditions.
func TestUpgradedAggregatorChangesNoCondition(t *testing.T) {
	for _, r := range releases(t) {
		for name, entry := range read(t, r, frozen.Messages, frozen.Entry+"-") {
			t.Run(filepath.Base(r.Dir)+"/"+name, func(t *testing.T) {
				of := read(t, r, frozen.Messages, strings.Replace(name, frozen.Entry, frozen.Observation, 1))
				for _, message := range of {
					now, was, err := frozen.Refold(message, entry)
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(intended(was), now); diff != "" {
						t.Errorf("conditions (-previous +now):\n%s", diff)
					}
				}
			})
		}
	}
}

// The recorded data must cover all families and situations.
func TestRecordCoversAllSituations(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range releases(t) {
		folds, err := r.Folds()
		if err != nil {
			t.Fatal(err)
		}
		for _, fold := range folds {
			for kind, want := range fold {
				seen[kind+"="+want] = true
			}
		}
		for name := range read(t, r, frozen.Messages, "") {
			seen[strings.SplitN(name, "-", 2)[0]] = true
		}
	}
	for _, want := range []string{
		"Available=True/AllComponentsReady", "Degraded=True/CrashLoop", "Degraded=True/ImagePull", "Degraded=True/DependencyUnavailable",
		"Stopped=True/Stopped", "Paused=True/ReconciliationPaused", "Ready=True/AllComponentsReady",
		frozen.Observation, frozen.Heartbeat, frozen.Lifecycle, frozen.Change, frozen.Entry,
	} {
		if !seen[want] {
			t.Errorf("no %s was recorded", want)
		}
	}
}
