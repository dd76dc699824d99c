package audit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/test/stack/audit"
)

const user = "system:serviceaccount:flotilla-system:superset-operator"

// line returns an event in the format of the API server, with the fields that Count reads and some that it ignores.
func line(who, verb, ref, code string) string {
	return `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":"ResponseComplete",` +
		`"requestURI":"/version?timeout=3s","verb":"` + verb + `","user":{"username":"` + who + `"},` + ref +
		`"responseStatus":{"metadata":{},"code":` + code + `}}` + "\n"
}

const (
	deployments = `"objectRef":{"resource":"deployments","namespace":"a","name":"b","apiGroup":"apps","apiVersion":"v1"},`
	status      = `"objectRef":{"resource":"supersets","subresource":"status","apiGroup":"superset.apache.org"},`
	leases      = `"objectRef":{"resource":"leases","apiGroup":"coordination.k8s.io"},`
)

func TestCountFollowsBudget(t *testing.T) {
	cases := map[string]struct {
		line string
		want string // kinds
		n    [3]int // requests, writes, conflicts
	}{
		"a read is a request":              {line(user, "list", deployments, "200"), "list deployments 1", [3]int{1, 0, 0}},
		"an apply is a write":              {line(user, "patch", deployments, "200"), "patch deployments 1", [3]int{1, 1, 0}},
		"a conflict is a write":            {line(user, "patch", status, "409"), "patch supersets/status 1", [3]int{1, 1, 1}},
		"a rejected write is a write":      {line(user, "create", deployments, "403"), "create deployments 1", [3]int{1, 1, 0}},
		"a path without a resource counts": {line(user, "get", "", "200"), "get /version 1", [3]int{1, 0, 0}},
		"another field manager is named": {
			strings.Replace(line(user, "patch", status, "200"), "?timeout=3s", "?fieldManager=flotilla-conditions&force=true", 1),
			"patch supersets/status as flotilla-conditions 1",
			[3]int{1, 1, 0},
		},
		"its own field manager is not named": {
			strings.Replace(line(user, "patch", status, "200"), "?timeout=3s", "?fieldManager=superset-operator", 1),
			"patch supersets/status 1",
			[3]int{1, 1, 0},
		},
		"a watch does not count":                   {line(user, "watch", deployments, "200"), "", [3]int{}},
		"a lease does not count":                   {line(user, "update", leases, "200"), "", [3]int{}},
		"a request of another user does not count": {line("admin", "update", deployments, "200"), "", [3]int{}},
		"an empty line is not an event":            {"\n", "", [3]int{}},
		"the most frequent kind comes first": {
			line(user, "list", deployments, "200") + line(user, "patch", status, "200") + line(user, "patch", status, "409"),
			"patch supersets/status 2, list deployments 1",
			[3]int{3, 2, 1},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := audit.Count([]byte(c.line), user)
			if err != nil {
				t.Fatal(err)
			}
			if n := [3]int{got.Requests, got.Writes, got.Conflicts}; n != c.n || got.String() != c.want {
				t.Errorf("got %v %q, want %v %q", n, got, c.n, c.want)
			}
		})
	}
}

func TestCountRejectsBrokenEvent(t *testing.T) {
	if _, err := audit.Count([]byte("{\"verb\":\n"), user); err == nil {
		t.Error("no error for an incomplete event")
	}
}

func TestLogReadsWholeEventsFromMark(t *testing.T) {
	log := audit.Log{Path: filepath.Join(t.TempDir(), "audit.log")}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(log.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one\ntwo\nthr")
	data, mark, err := log.Since(4)
	if err != nil || string(data) != "two\n" || mark != 8 {
		t.Fatalf("got %q up to %d, %v", data, mark, err)
	}
	write("one\ntwo\nthree\n")
	if data, mark, err = log.Since(mark); err != nil || string(data) != "three\n" || mark != 14 {
		t.Fatalf("got %q up to %d, %v", data, mark, err)
	}
	write("new\n")
	if _, _, err = log.Since(mark); err == nil || !strings.Contains(err.Error(), "rotated") {
		t.Errorf("got %v for a rotated log, want an error", err)
	}
}

func TestPolicyNamesOnlyServiceUsers(t *testing.T) {
	var policy struct {
		APIVersion, Kind string
		OmitStages       []string
		Rules            []struct {
			Level string
			Users []string
		}
	}
	text := audit.Policy(user, "b")
	if err := yaml.UnmarshalStrict([]byte(text), &policy); err != nil {
		t.Fatal(err)
	}
	if len(policy.OmitStages) != 2 || len(policy.Rules) != 2 {
		t.Fatalf("policy %+v", policy)
	}
	if r := policy.Rules[0]; r.Level != "Metadata" || strings.Join(r.Users, " ") != user+" b" {
		t.Errorf("first rule %+v", r)
	}
	if r := policy.Rules[1]; r.Level != "None" || len(r.Users) != 0 {
		t.Errorf("last rule %+v", r)
	}
}
