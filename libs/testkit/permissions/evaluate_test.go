package permissions

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

const text = `[{"service":"a","permissions":[
	{"group":"","resource":"pods","verb":"get","used":3},
	{"group":"apps","resource":"deployments","verb":"delete","used":0},
	{"namespace":"n","group":"","resource":"secrets","names":["x","y"],"verb":"get","used":0},
	{"group":"","resource":"/metrics","verb":"get","used":1}],"denied":[]}]`

func TestEvaluate(t *testing.T) {
	deployments := Unused{Service: "a", On: []string{"apps/deployments"}, Verbs: "delete", Reason: "r"}
	secrets := Unused{Service: "a", On: []string{"core/secrets in n named x,y"}, Verbs: "get", Reason: "r"}
	cases := map[string]struct {
		explained   []Unused
		unexplained []string
		wrong       string // substring of the only violation; empty: no violation
	}{
		"each unused permission is explained": {explained: []Unused{deployments, secrets}},
		"an unexplained permission":           {explained: []Unused{deployments}, unexplained: []string{"a core/secrets get in n named x,y"}},
		"another service's explanation":       {explained: []Unused{{Service: "b", On: deployments.On, Verbs: "delete"}, secrets}, unexplained: []string{"a apps/deployments delete"}, wrong: "b apps/deployments delete is explained and not granted"},
		"a permission with another scope":     {explained: []Unused{deployments, {Service: "a", On: []string{"core/secrets"}, Verbs: "get"}}, unexplained: []string{"a core/secrets get in n named x,y"}, wrong: "core/secrets get is explained and not granted"},
		"an explained permission is used":     {explained: []Unused{deployments, secrets, {Service: "a", On: []string{"core/pods"}, Verbs: "get", Reason: "r"}}, wrong: "a core/pods get is explained as unused (r) and was used 3 times"},
		"an explained path is used":           {explained: []Unused{deployments, secrets, {Service: "a", On: []string{"/metrics"}, Verbs: "get", Reason: "r"}}, wrong: "a /metrics get is explained as unused (r) and was used 1 times"},
		"an explained permission may be used": {explained: []Unused{deployments, secrets, {Service: "a", On: []string{"core/pods"}, Verbs: "get", Sometimes: true}}},
		"an explained verb is not granted":    {explained: []Unused{{Service: "a", On: []string{"apps/deployments"}, Verbs: "delete list"}, secrets}, wrong: "a apps/deployments list is explained and not granted"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			v := Evaluate(reports(t, text), c.explained)
			if want := []string{"a apps/deployments delete", "a core/secrets get in n named x,y"}; !slices.Equal(v.Unused, want) {
				t.Errorf("unused %q", v.Unused)
			}
			if !slices.Equal(v.Unexplained, c.unexplained) {
				t.Errorf("unexplained %q", v.Unexplained)
			}
			if c.wrong == "" && len(v.Wrong) > 0 || c.wrong != "" && (len(v.Wrong) != 1 || !strings.Contains(v.Wrong[0], c.wrong)) {
				t.Errorf("wrong %q", v.Wrong)
			}
		})
	}
}

func reports(t *testing.T, text string) (out []ServiceReport) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestEvaluateReportsDenial(t *testing.T) {
	denied := reports(t, `[{"service":"a","denied":[{"verb":"get","resource":"pods","namespace":"n","name":"p","message":"m","times":2}]}]`)
	want := []string{"a was denied get core/pods of n/p, 2 times: m"}
	if got := Evaluate(denied, nil).Wrong; !slices.Equal(got, want) {
		t.Errorf("wrong %q", got)
	}
}
