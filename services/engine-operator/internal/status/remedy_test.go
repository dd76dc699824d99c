package status

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// However long a description is, the remedy is complete, also after the prefix of a condition.
func TestRemedyIsNeverTruncated(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for name, message := range map[string]string{
		"a class":                 ClassRejected("c", long),
		"an instance":             InstanceRejected("i", long),
		"an object of an engine":  (Engine{Rejected: long}).rejection(t),
		"an invalid component":    NewRejection(long).Message,
		"an unsupported instance": NewUnsupported(long).Message,
		"children":                ChildrenHeld([]string{long}),
		"a Service":               ServiceHeld("s", []string{long}),
	} {
		got := contract.Text("Metadata: " + message)
		if !strings.HasSuffix(got, ".") || strings.HasSuffix(got, "...") {
			t.Errorf("%s: the message ends with %q", name, got[len(got)-20:])
		}
	}
	if got := withRemedy("No period", correctClass); got != "No period. Correct the class." {
		t.Errorf("withRemedy = %q", got)
	}
}

func (p Engine) rejection(t *testing.T) string {
	t.Helper()
	_, message := p.Rejection()
	return message
}

func TestDeletionBlockedCountsEngines(t *testing.T) {
	for want, engines := range map[string][]string{
		`Deletion is blocked: engine "a" refers to the instance. Delete the engine.`:                          {"a"},
		`Deletion is blocked: 2 engines refer to the instance, ["a" "b"] among them. Delete the engines.`:     {"a", "b"},
		`Deletion is blocked: 4 engines refer to the instance, ["a" "b" "c"] among them. Delete the engines.`: {"a", "b", "c", "d"},
	} {
		if got := NewDeletionBlocked(engines).Message; got != want {
			t.Errorf("the message is %q, want %q", got, want)
		}
	}
}

// An error that a retry may clear is not terminal, and causes no warning of an engine. Engine and instance agree about others.
func TestRefusalDistinguishesErrors(t *testing.T) {
	err := errors.New("connection refused")
	if f := NewApplyFailure("EnsureFailed", err); f.Terminal || f.Message != err.Error() {
		t.Errorf("NewApplyFailure = %+v", f)
	}
	if w := ApplyWarning(err); w != (Warning{}) {
		t.Errorf("ApplyWarning = %+v", w)
	}
	err = apierrors.NewBadRequest("unknown field")
	if f := NewApplyFailure("EnsureFailed", err); !f.Terminal || f.Message != "unknown field. "+correctInstance {
		t.Errorf("NewApplyFailure = %+v", f)
	}
	if w := ApplyWarning(err); !w.Terminal || w.Message != "unknown field. "+correctEngine {
		t.Errorf("ApplyWarning = %+v", w)
	}
}
