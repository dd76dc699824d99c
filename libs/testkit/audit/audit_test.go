package audit_test

import (
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/audit"
)

func TestEventsReadWholeLines(t *testing.T) {
	log := `{"verb":"get","user":{"username":"a"},"objectRef":{"resource":"pods"},"responseStatus":{"code":200}}` + "\n\n" +
		`{"verb":"list"}` + "\n" + `{"verb":"wat`
	var verbs []string
	for e, err := range audit.Events(strings.NewReader(log)) {
		if err != nil {
			t.Fatal(err)
		}
		verbs = append(verbs, e.Verb)
		if e.Verb == "get" && (e.User.Username != "a" || e.ObjectRef.Resource != "pods" || e.ResponseStatus.Code != 200) {
			t.Errorf("event %+v", e)
		}
	}
	if strings.Join(verbs, " ") != "get list" {
		t.Errorf("verbs %q", verbs)
	}
}

func TestEventsRejectBrokenEvent(t *testing.T) {
	n := 0
	for _, err := range audit.Events(strings.NewReader("{\"verb\":\n{}\n")) {
		if n++; err == nil {
			t.Error("a partial event was accepted")
		}
	}
	if n != 1 {
		t.Errorf("%d events after a broken one", n)
	}
}

func TestServiceAccountReturnsUserName(t *testing.T) {
	if got := audit.ServiceAccount("flotilla-system", "ingester"); got != "system:serviceaccount:flotilla-system:ingester" {
		t.Error(got)
	}
}
