package contract_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

var update = flag.Bool("update", false, "write the golden messages")

// The golden messages are messages of earlier releases. An existing one must never
// change: readers of every release have to decode it.
func TestGoldenMessages(t *testing.T) {
	for name, encode := range samples() {
		t.Run(name, func(t *testing.T) {
			message, err := encode()
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := json.Indent(&got, message, "", "  "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			file := filepath.Join("testdata", "golden", name+".json")
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v; write it with -update", err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}

// Every message of the corpus is decoded, and encoded again without a change.
func TestGoldenMessagesRoundTrip(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.json")
	if err != nil || len(files) < len(samples()) {
		t.Fatalf("%d golden messages, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			message, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			second, err := reencode(message)
			if err != nil {
				t.Fatal(err)
			}
			var want, got any
			for raw, into := range map[*[]byte]*any{&message: &want, &second: &got} {
				if err := json.Unmarshal(*raw, into); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("read and written again (-want +got):\n%s", diff)
			}
		})
	}
}

func reencode(message []byte) ([]byte, error) {
	e, err := contract.DecodeEnvelope(message)
	if err != nil {
		return nil, err
	}
	switch e.Type {
	case contract.TypeObservation:
		return recode[contract.Observation](message)
	case contract.TypeHeartbeat:
		return recode[contract.Heartbeat](message)
	case contract.TypeLifecycle:
		return recode[contract.Lifecycle](message)
	default:
		return recode[contract.Change](message)
	}
}

func recode[P contract.Payload](message []byte) ([]byte, error) {
	e, data, err := contract.Decode[P](message)
	if err != nil {
		return nil, err
	}
	return contract.Encode(e, data)
}

func TestDecodeRejectsOtherMajorVersion(t *testing.T) {
	heartbeat, err := samples()["heartbeat-full"]()
	if err != nil {
		t.Fatal(err)
	}
	change := func(from, to string) []byte { return bytes.Replace(heartbeat, []byte(from), []byte(to), 1) }
	tests := map[string]struct {
		message []byte
		want    error
	}{
		"unchanged":               {heartbeat, nil},
		"an unknown attribute":    {change(`"specversion"`, `"partitionkey":"x","specversion"`), nil},
		"an unknown field":        {change(`"cluster"`, `"mood":{"good":true},"cluster"`), nil},
		"a later 1.x envelope":    {change(`"specversion":"1.0"`, `"specversion":"1.1"`), nil},
		"another major version":   {change("heartbeat.v1", "heartbeat.v2"), contract.ErrUnsupportedType},
		"another type":            {change("dev.flotilla.heartbeat.v1", "dev.flotilla.change.v1"), contract.ErrUnsupportedType},
		"a foreign event":         {change("dev.flotilla.heartbeat.v1", "com.example.thing"), contract.ErrUnsupportedType},
		"another envelope":        {change(`"specversion":"1.0"`, `"specversion":"2.0"`), contract.ErrMalformed},
		"no id":                   {change(`"id":"superset-operator.x.1763719200000.beat.1"`, `"id":""`), contract.ErrMalformed},
		"a field of another type": {change(`"cluster":"prod"`, `"cluster":7`), contract.ErrMalformed},
		"no data":                 {[]byte(`{"specversion":"1.0","id":"a","source":"s","type":"dev.flotilla.heartbeat.v1"}`), contract.ErrMalformed},
		"null data":               {[]byte(`{"specversion":"1.0","id":"a","source":"s","type":"dev.flotilla.heartbeat.v1","data":null}`), contract.ErrMalformed},
		"nothing":                 {nil, contract.ErrMalformed},
		"no JSON":                 {[]byte("hello"), contract.ErrMalformed},
		"truncated":               {heartbeat[:len(heartbeat)/2], contract.ErrMalformed},
		"an array":                {[]byte("[]"), contract.ErrMalformed},
		"too large":               {append(bytes.Clone(heartbeat), bytes.Repeat([]byte(" "), contract.MaxMessageBytes)...), contract.ErrTooLarge},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, got, err := contract.Decode[contract.Heartbeat](tc.message)
			if !errors.Is(err, tc.want) {
				t.Fatalf("error is %v, want %v", err, tc.want)
			}
			if tc.want == nil && got.Cluster != "prod" {
				t.Errorf("cluster is %q", got.Cluster)
			}
		})
	}
}

func TestEncodeRejectsInvalidEvent(t *testing.T) {
	valid := contract.Event{ID: "a", Source: "s", Time: at}
	tests := map[string]struct {
		event contract.Event
		text  string
		want  error
	}{
		"whole":     {valid, "", nil},
		"no id":     {contract.Event{Source: "s", Time: at}, "", contract.ErrMalformed},
		"no source": {contract.Event{ID: "a", Time: at}, "", contract.ErrMalformed},
		"no time":   {contract.Event{ID: "a", Source: "s"}, "", contract.ErrMalformed},
		"too large": {valid, strings.Repeat("x", contract.MaxMessageBytes), contract.ErrTooLarge},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			message, err := contract.Encode(tc.event, contract.Lifecycle{Message: tc.text})
			if !errors.Is(err, tc.want) {
				t.Errorf("error is %v, want %v", err, tc.want)
			}
			if len(message) > contract.MaxMessageBytes {
				t.Errorf("%d bytes", len(message))
			}
		})
	}
}

func TestSequenceSortsNumerically(t *testing.T) {
	order := []string{
		contract.Sequence(1, 1), contract.Sequence(1, 9), contract.Sequence(1, 10),
		contract.Sequence(2, 1), contract.Sequence(10, 1), contract.Sequence(1763719200000, 1),
	}
	for i := 1; i < len(order); i++ {
		if order[i-1] >= order[i] {
			t.Errorf("%q does not sort before %q", order[i-1], order[i])
		}
	}
}

func TestBoundedFitsAndKeepsOriginal(t *testing.T) {
	long := strings.Repeat("ä", contract.MaxMessageBytes)
	o := contract.Observation{
		Reconcile:       contract.Reconcile{Reason: long, Message: long},
		Units:           []contract.Unit{{Failures: []contract.Failure{{Message: long, Examples: []string{"a", "b", "c", "d"}}}}},
		Jobs:            []contract.Job{{Message: long}},
		Dependencies:    []contract.Dependency{{Message: long}},
		UpgradeBlockers: []string{long, "bad\xff"},
	}
	message, err := contract.Encode(contract.Event{ID: "a", Source: "s", Time: at}, o.Bounded())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := contract.Decode[contract.Observation](message); err != nil {
		t.Error(err)
	}
	b := o.Bounded()
	if n := len(b.Units[0].Failures[0].Examples); n != contract.MaxExamples {
		t.Errorf("%d examples, want %d", n, contract.MaxExamples)
	}
	if o.Jobs[0].Message != long || len(o.Units[0].Failures[0].Examples) != 4 || o.UpgradeBlockers[0] != long {
		t.Error("the original was changed")
	}
}

func FuzzDecode(f *testing.F) {
	for _, encode := range samples() {
		message, err := encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(message)
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		_, err := contract.DecodeEnvelope(message)
		if err != nil {
			return
		}
		second, err := reencode(message)
		if err != nil {
			return
		}
		if _, err := contract.DecodeEnvelope(second); err != nil {
			t.Errorf("%q became %q: %v", message, second, err)
		}
	})
}
