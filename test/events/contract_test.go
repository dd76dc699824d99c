package events

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/asyncapi"
)

// The schemas of docs/events equal those of libs/contract.
func TestSchemasMatchContract(t *testing.T) {
	read := func(dir string) map[string]string {
		names, err := filepath.Glob(filepath.Join(dir, "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, n := range names {
			raw, err := os.ReadFile(n)
			if err != nil {
				t.Fatal(err)
			}
			out[filepath.Base(n)] = string(raw)
		}
		return out
	}
	if diff := cmp.Diff(read("../../libs/contract/schemas"), read(pages+"/schemas")); diff != "" {
		t.Errorf("copy libs/contract/schemas to docs/events/schemas (-contract +docs):\n%s", diff)
	}
}

func TestClosedListsMatchContract(t *testing.T) {
	doc := document(t)
	list := func(path ...string) []string {
		raw, _ := at(t, doc, path...)["enum"].([]any)
		var out []string
		for _, v := range raw {
			out = append(out, fmt.Sprint(v))
		}
		return out
	}
	var kinds []string
	for _, k := range contract.Kinds() {
		kinds = append(kinds, string(k))
	}
	if diff := cmp.Diff(kinds, list("components", "parameters", "kind")); diff != "" {
		t.Errorf("kinds (-contract +document):\n%s", diff)
	}
	schemaList := func(file, property string) []string {
		var schema struct {
			Properties map[string]struct{ Enum []string }
		}
		raw, err := contract.Schemas.ReadFile("schemas/" + file)
		if err == nil {
			err = json.Unmarshal(raw, &schema)
		}
		if err != nil {
			t.Fatal(err)
		}
		return schema.Properties[property].Enum
	}
	if diff := cmp.Diff(schemaList("lifecycle.v1.json", "event"), list("channels", "lifecycle", "parameters", "event")); diff != "" {
		t.Errorf("events (-contract +document):\n%s", diff)
	}
	if diff := cmp.Diff(schemaList("change.v1.json", "operation"), list("channels", "changes", "parameters", "operation")); diff != "" {
		t.Errorf("operations (-contract +document):\n%s", diff)
	}
}

func TestContractSubjectsHaveChannels(t *testing.T) {
	ref := contract.Ref{Cluster: "prod.eu", Namespace: "team-a", Kind: contract.Superset, Name: "main.v2"}
	must := func(subject string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return subject
	}
	key := must(ref.Key())
	want := map[string]string{
		must(contract.LifecycleSubject(ref, contract.EventPhase)):            "lifecycle",
		must(contract.ChangeSubject(ref, contract.ChangeEvicted)):            "changes",
		must(contract.ObservationSubject(ref, "superset-operator")):          "observations",
		must(contract.HeartbeatSubject("prod.eu", "superset-operator")):      "heartbeats",
		must(contract.DeadLetterSubject("flotilla.obs", "malformed")):        "deadLetters",
		"$KV." + contract.BucketStatus + "." + key:                           "status",
		contract.LifecyclePrefix + "." + key + ".exploded":                   "",
		contract.LifecyclePrefix + ".prod.team-a.volcano.main.phase":         "",
		contract.LifecyclePrefix + ".prod.team-a.superset.main.v2.phase":     "",
		strings.Replace(contract.LifecyclePrefix, "v1", "v2", 1) + "." + key: "",
	}
	d := load(t)
	for subject, channel := range want {
		if got := strings.Join(d.Channels(subject), " "); got != channel {
			t.Errorf("%q is in channel %q, want %q", subject, got, channel)
		}
	}
	if err := d.Check("orders.new", nil, nil); !errors.Is(err, asyncapi.ErrUnknownSubject) {
		t.Errorf("error is %v, want %v", err, asyncapi.ErrUnknownSubject)
	}
}
