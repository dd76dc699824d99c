package superset

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/test/e2e/load"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
)

// The secrets are "the password of warehouse", encrypted by SQLAlchemy-Utils of the stub's image.
func TestSecretsDecryptOnlyWithOwnKey(t *testing.T) {
	rows, err := parseSecrets("warehouse|w5J21AdFvdBoVMilIe1ggewqwyrDtoVCqqutCBBu5Eg=\nwarehouse|w5J21AdFvdBoVMilIe1ggewqwyrDtoVCqqutCBBu5Eg=")
	if err != nil || len(rows) != 2 {
		t.Fatalf("%v, %v", rows, err)
	}
	if err := decryptOnlyWith(rows, "the first key", "the second key"); err != nil {
		t.Error(err)
	}
	if decryptOnlyWith(rows, "the second key", "the first key") == nil {
		t.Error("another key decrypts the secrets")
	}
	if decryptOnlyWith(rows, "the first key", "the first key") == nil {
		t.Error("the old key still decrypts the secrets")
	}
	if decryptOnlyWith([]stored{{"billing", rows[0].encrypted}}, "the first key", "the second key") == nil {
		t.Error("the secret of another connection is accepted")
	}
	for _, answer := range []string{"", "warehouse"} {
		if _, err := parseSecrets(answer); err == nil {
			t.Errorf("%q: no error", answer)
		}
	}
	for _, text := range []string{"?", "c2hvcnQ="} {
		if _, err := decrypt(text, "the first key"); err == nil {
			t.Errorf("%q: decrypted", text)
		}
	}
}

func TestEvaluateWeb(t *testing.T) {
	rules := []WebPhase{
		{Name: "steady", Pages: []string{OldPage}},
		{Name: "upgrade", Pages: []string{OldPage, NewPage}, Moves: true},
	}
	figures := func(phase string, gap float64, classes ...string) load.Figures {
		f := load.Figures{Phase: phase, LongestGap: gap, Classes: map[string]int{}}
		for _, c := range classes {
			f.Classes[c]++
			if c == load.Refused {
				f.Failed++
			}
		}
		return f
	}
	tests := map[string]struct {
		figures load.Figures
		want    string
	}{
		"only the pages":            {figures("steady", 0.1, "200 old page"), ""},
		"an unexpected page":        {figures("steady", 0.1, "200 old page", "200 new page"), `"200 new page"`},
		"a page that fails":         {figures("upgrade", 0.1, "200 old page", "200 new page", "502 new page"), `"502 new page"`},
		"a page never served":       {figures("upgrade", 0.1, "200 old page"), "[200 new page] was never served"},
		"refused without a rollout": {figures("steady", 0.1, "200 old page", load.Refused), `"refused"`},
		"refused during a rollout":  {figures("upgrade", 0.1, "200 old page", "200 new page", load.Refused), ""},
		"torn during a rollout":     {figures("upgrade", 0.1, "200 old page", "200 new page", load.Truncated), `"torn"`},
		"a long gap":                {figures("upgrade", 60, "200 old page", "200 new page", load.Refused), "60.0 s without a page"},
		"a slow page":               {figures("upgrade", 10, "200 old page", "200 new page"), ""},
		"a phase without a rule":    {figures("other", 0.1, "200 old page"), "no rule"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			step := &run.Step{}
			err := EvaluateWeb(rules)(step, []load.Figures{tc.figures})
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%v, want %q", err, tc.want)
			}
			if notes := strings.Join(step.Notes(), ""); !strings.Contains(notes, "Longest web gap") {
				t.Errorf("the notes are %q", notes)
			}
		})
	}
}

// A phase has a rule if and only if it has no expected outage.
func TestSupersetPhasesHaveRules(t *testing.T) {
	p := &platform.Platform{}
	for _, s := range []run.Scenario{Upgrades(p), Operations(p)} {
		for _, phase := range s.Phases {
			err := s.Evaluate(&run.Step{}, []load.Figures{{Phase: phase.Name}})
			if got := !strings.Contains(err.Error(), "no rule"); got == phase.Outage {
				t.Errorf("%s: phase %q has a rule: %t, has an outage: %t", s.Name, phase.Name, got, phase.Outage)
			}
		}
	}
}

func TestSampleOmitsUnwantedObjects(t *testing.T) {
	p := &platform.Platform{Root: "../../../.."}
	objects, err := p.Sample("superset-databases.yaml", "mysql")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range objects {
		got = append(got, o.GetKind()+" "+o.GetName())
	}
	want := "Secret databases, Service postgres, StatefulSet postgres, Service valkey, Deployment valkey"
	if strings.Join(got, ", ") != want {
		t.Errorf("%v, want %s", got, want)
	}
	if _, err := (&platform.Platform{Root: t.TempDir()}).Sample("superset.yaml"); err == nil || !strings.Contains(err.Error(), "--root") {
		t.Errorf("without a checkout: %v", err)
	}
}

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return o
}

const running = `
apiVersion: v1
kind: Superset
metadata: {generation: 2}
status:
  phase: Running
  observedGeneration: 2
  lastLifecycleImage: shop:2
  lifecycle: {phase: Complete}
  conditions:
    - {type: LifecycleComplete, status: "True"}
    - {type: Available, status: "True"}
    - {type: Ready, status: "True", observedGeneration: 2}
`

const rolled = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, generation: 3}
spec: {replicas: 2, template: {spec: {containers: [{name: sidecar, image: other}, {name: superset, image: "shop:2"}]}}}
status: {observedGeneration: 3, replicas: 2, updatedReplicas: 2, availableReplicas: 2}
`

const waiting = `
apiVersion: v1
kind: Superset
metadata: {generation: 2}
status:
  phase: AwaitingApproval
  lifecycle: {upgrade: {approvalToken: "a1b2"}}
  conditions:
    - {type: LifecycleComplete, status: "False", reason: AwaitingApproval}
`

func TestSupersetChecksReportUnmetState(t *testing.T) {
	tests := map[string]struct {
		good      string
		look      func(*unstructured.Unstructured) error
		overrides map[string]string
	}{
		"a Superset that runs": {
			running, func(o *unstructured.Unstructured) error { return Runs(o, "shop:2") },
			map[string]string{
				"phase: Running": "phase: Degraded", "phase: Complete": "phase: Restoring", "shop:2": "shop:1", "generation: 2": "generation: 3",
				`Available, status: "True"`: `Available, status: "False"`, `Ready, status: "True", observedGeneration: 2`: `Ready, status: "True", observedGeneration: 1`,
			},
		},
		"a Deployment that is rolled out": {
			rolled, func(o *unstructured.Unstructured) error { return RolledOut(o, "shop:2", 2) },
			map[string]string{
				"shop:2": "shop:1", "generation: 3": "generation: 4", "{replicas: 2": "{replicas: 1",
				" replicas: 2, updated": " replicas: 3, updated", "updatedReplicas: 2": "updatedReplicas: 1", "availableReplicas: 2": "availableReplicas: 1",
			},
		},
		"an upgrade that waits": {
			waiting, waits,
			map[string]string{
				"phase: AwaitingApproval": "phase: Running", "reason: AwaitingApproval": "reason: TaskInProgress",
				`"a1b2"`: `""`,
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if err := tc.look(parsed(t, tc.good)); err != nil {
				t.Fatal(err)
			}
			for before, after := range tc.overrides {
				text := strings.Replace(tc.good, before, after, 1)
				if text == tc.good {
					t.Fatalf("the sample lacks %q", before)
				}
				if tc.look(parsed(t, text)) == nil {
					t.Errorf("%s is accepted", after)
				}
			}
		})
	}
}
