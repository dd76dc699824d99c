package page

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
)

const clusterName = "test"

// start is when everything in made-up messages begins.
var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

var programDir string // of program, once it is built

// program builds the test binary with TestServe.
var program = sync.OnceValues(func() (file string, err error) {
	if programDir, err = os.MkdirTemp("", "flotilla-page-"); err != nil {
		return "", err
	}
	file = filepath.Join(programDir, "page.test")
	cmd := exec.Command("go", "test", "-race", "-vet=off", "-c", "-o", file, "./internal/page")
	cmd.Dir = "../../services/status-aggregator"
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOWORK=off")
	cmd.Stderr = os.Stderr
	return file, cmd.Run()
})

// request and answer are those of services/status-aggregator/internal/page.
type request struct {
	Details *[]statusapi.ResourceDetail `json:"details,omitempty"`
	Token   *string                     `json:"token,omitempty"`
	Event   *contract.Lifecycle         `json:"event,omitempty"`
	NATS    string                      `json:"nats,omitempty"`
}

type answer struct {
	Base     string `json:"base"`
	Sequence uint64 `json:"sequence"`
}

// site is a process that serves the page. It ends with its standard input.
type site struct {
	t        *testing.T
	base     string
	requests *json.Encoder
	out      *bufio.Reader
}

func newSite(t *testing.T) *site {
	t.Helper()
	file, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(file, "-test.run", "^TestServe$") //nolint:noctx // it ends when its input closes
	cmd.Dir = "../../services/status-aggregator/internal/page"
	cmd.Env = append(os.Environ(), "FLOTILLA_PAGE_SERVE=yes")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, requests: json.NewEncoder(in), out: bufio.NewReader(out)}
	t.Cleanup(func() {
		in.Close()
		output, readErr := io.ReadAll(s.out)
		if err := cmd.Wait(); err != nil || readErr != nil {
			t.Errorf("the server of the page: %v, %v\n%s", err, readErr, output)
		}
	})
	s.base = s.answer().Base
	return s
}

func (s *site) answer() answer {
	s.t.Helper()
	line, err := s.out.ReadBytes('\n')
	var a answer
	if err == nil {
		err = json.Unmarshal(line, &a)
	}
	if err != nil {
		s.t.Fatalf("the server of the page: %v: %s", err, line)
	}
	return a
}

func (s *site) do(r request) answer {
	s.t.Helper()
	if err := s.requests.Encode(r); err != nil {
		s.t.Fatal(err)
	}
	return s.answer()
}

// set replaces the fleet.
func (s *site) set(details ...statusapi.ResourceDetail) {
	s.t.Helper()
	if details == nil {
		details = []statusapi.ResourceDetail{}
	}
	s.do(request{Details: &details})
}

// accept lets requests with a token pass only.
func (s *site) accept(token string) {
	s.t.Helper()
	s.do(request{Token: &token})
}

// event publishes a lifecycle event and returns its sequence.
func (s *site) event(l contract.Lifecycle) uint64 {
	s.t.Helper()
	return s.do(request{Event: &l}).Sequence
}

// flip publishes that a condition changed.
func (s *site) flip(o contract.Object, event contract.LifecycleEvent, before, after contract.Condition) uint64 {
	s.t.Helper()
	return s.event(contract.Lifecycle{Object: o, Event: event, Condition: &contract.ConditionChange{
		Type: after.Type, Before: &before, After: after,
	}})
}

// condition makes one that changed so many minutes after start.
func condition(kind, status, reason string, minutes int) contract.Condition {
	return contract.Condition{
		Type: kind, Status: status, Reason: reason, Message: "because of " + reason,
		LastTransitionTime: start.Add(time.Duration(minutes) * time.Minute),
	}
}

// observation is of a Superset with one of two replicas.
func observation(o contract.Object) contract.Observation {
	return contract.Observation{
		Object: o, Observer: contract.Observer{Name: "superset-operator", Instance: "superset-operator-0", Version: "1.2.3"},
		Epoch: start.UnixMilli(), Seq: 7, ObservedAt: start, ValidForSeconds: 30, ObservedGeneration: o.Generation,
		DeployedVersion: "6.0.0", Reconcile: contract.Reconcile{Outcome: contract.Succeeded},
		Units: []contract.Unit{{
			Name: "webServer", Kind: "Deployment", Role: contract.Serving, Routed: true, Present: true, Observed: true,
			Desired: 2, Current: 2, Updated: 2, Ready: 1, Available: 1,
			Failures: []contract.Failure{{Class: contract.FailureCrashLoop, Count: 1, Examples: []string{"web-0"}, Message: "exit code 1"}},
		}},
		Jobs:         []contract.Job{{Name: "migrate", State: contract.JobComplete}},
		Dependencies: []contract.Dependency{{Kind: "Service", Name: "db", Ready: false, Message: "no endpoints"}},
	}
}
