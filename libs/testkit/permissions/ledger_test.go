package permissions

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// line returns a line of the audit log; status begins with the code.
func line(id, stage, verb, ref, status string) string {
	return fmt.Sprintf(`{"kind":"Event","level":"Metadata","auditID":%q,"stage":%q,"requestURI":"/metrics?x=y",`+
		`"verb":%q,"user":{"username":"u"},%s"responseStatus":{"metadata":{},"code":%s}}`+"\n", id, stage, verb, ref, status)
}

const (
	complete = "ResponseComplete"
	started  = "ResponseStarted"

	deployment = `"objectRef":{"resource":"deployments","namespace":"a","name":"b","apiGroup":"apps"},`
	elsewhere  = `"objectRef":{"resource":"deployments","namespace":"c","name":"b","apiGroup":"apps"},`
	pods       = `"objectRef":{"resource":"pods","namespace":"a"},`
	proxy      = `"objectRef":{"resource":"pods","subresource":"proxy","namespace":"a","name":"b"},`
)

func TestLedgerCountsUses(t *testing.T) {
	granted := []Permission{
		{Group: "apps", Resource: "deployments", Verb: "patch"},
		{Group: "apps", Resource: "deployments", Verb: "create"},
		{Group: "apps", Resource: "deployments", Verb: "create", Names: []string{"b"}},
		{Namespace: "a", Group: "apps", Resource: "deployments", Verb: "patch"},
		{Resource: "pods", Verb: "watch"},
		{Resource: "pods/proxy", Verb: "get"},
		{Resource: "/metrics", Verb: "get"},
	}
	cases := map[string]struct {
		log  string
		want []int
	}{
		"nothing":                         {"", []int{0, 0, 0, 0, 0, 0, 0}},
		"the permission in the namespace": {line("1", complete, "patch", deployment, "200"), []int{0, 0, 0, 1, 0, 0, 0}},
		"the permission everywhere":       {line("1", complete, "patch", elsewhere, "200"), []int{1, 0, 0, 0, 0, 0, 0}},
		"a patch that creates":            {line("1", complete, "patch", deployment, "201"), []int{0, 0, 1, 1, 0, 0, 0}},
		"a creation has no name":          {line("1", complete, "create", deployment, "201"), []int{0, 1, 0, 0, 0, 0, 0}},
		"a conflict is a use":             {line("1", complete, "patch", deployment, "409"), []int{0, 0, 0, 1, 0, 0, 0}},
		"a denial is not a use":           {line("1", complete, "patch", deployment, "403"), []int{0, 0, 0, 0, 0, 0, 0}},
		"a request without permission":    {line("1", complete, "delete", deployment, "200"), []int{0, 0, 0, 0, 0, 0, 0}},
		"an open watch":                   {line("1", started, "watch", pods, "200"), []int{0, 0, 0, 0, 1, 0, 0}},
		"a closed watch counts once":      {line("1", started, "watch", pods, "200") + line("1", complete, "watch", pods, "200"), []int{0, 0, 0, 0, 1, 0, 0}},
		"two watches":                     {line("1", started, "watch", pods, "200") + line("2", started, "watch", pods, "200"), []int{0, 0, 0, 0, 2, 0, 0}},
		"a proxied request counts once":   {line("1", started, "get", proxy, "200") + line("1", complete, "get", proxy, "200"), []int{0, 0, 0, 0, 0, 1, 0}},
		"a path":                          {line("1", complete, "get", "", "200"), []int{0, 0, 0, 0, 0, 0, 1}},
		"a line that is being written":    {strings.TrimSpace(line("1", complete, "get", "", "200"))[:90], []int{0, 0, 0, 0, 0, 0, 0}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got []int
			for _, use := range report(t, granted, c.log).Permissions {
				got = append(got, use.Used)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLedgerKeepsDenials(t *testing.T) {
	refused := `403,"message":"no"`
	log := line("1", complete, "patch", deployment, refused) +
		line("2", started, "watch", pods, refused) + line("2", complete, "watch", pods, refused) +
		line("3", complete, "patch", deployment, refused) +
		strings.Replace(line("4", complete, "list", pods, "500"), `"verb"`, `"annotations":{"authorization.k8s.io/decision":"forbid"},"verb"`, 1) +
		line("5", complete, "get", pods, "404")
	want := []Denial{
		{Request: Request{Verb: "list", Resource: "pods", Namespace: "a"}, Times: 1},
		{Request: Request{Verb: "watch", Resource: "pods", Namespace: "a"}, Message: "no", Times: 1},
		{Request: Request{Verb: "patch", Group: "apps", Resource: "deployments", Namespace: "a", Name: "b"}, Message: "no", Times: 2},
	}
	if diff := cmp.Diff(want, report(t, nil, log).Denied); diff != "" {
		t.Error(diff)
	}
}

func TestRequestString(t *testing.T) {
	for want, request := range map[string]Request{
		"patch apps/deployments a/b": {Verb: "patch", Group: "apps", Resource: "deployments", Namespace: "a", Name: "b"},
		"get core/nodes b":           {Verb: "get", Resource: "nodes", Name: "b"},
		"list core/pods in a":        {Verb: "list", Resource: "pods", Namespace: "a"},
		"list core/pods":             {Verb: "list", Resource: "pods"},
	} {
		if got := request.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestEventsRejectBrokenEvent(t *testing.T) {
	for _, err := range Events(strings.NewReader("{\"verb\":\n")) {
		if err == nil {
			t.Error("a truncated event was accepted")
		}
		return
	}
	t.Error("no event was read")
}

func report(t *testing.T, granted []Permission, log string) Report {
	t.Helper()
	ledger := NewLedger(granted)
	for event, err := range Events(strings.NewReader(log)) {
		if err != nil {
			t.Fatal(err)
		}
		if event.User != "u" {
			t.Errorf("user %q", event.User)
		}
		ledger.Add(event)
	}
	return ledger.Report()
}

func TestLedgerCountsEquallyNarrowPermissions(t *testing.T) {
	granted := []Permission{
		{Resource: "pods", Verb: "get", Names: []string{"b"}},
		{Resource: "pods", Verb: "get"},
		{Resource: "*", Verb: "get", Names: []string{"a", "b"}},
	}
	log := line("1", complete, "get", strings.Replace(deployment, `"deployments","namespace":"a","name":"b","apiGroup":"apps"`, `"pods","name":"b"`, 1), "200")
	var got []int
	for _, use := range report(t, granted, log).Permissions {
		got = append(got, use.Used)
	}
	if diff := cmp.Diff([]int{1, 0, 1}, got); diff != "" {
		t.Error(diff)
	}
}
