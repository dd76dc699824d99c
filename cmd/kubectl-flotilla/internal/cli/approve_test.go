package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
)

const (
	upgradeAnnotation   = "superset.apache.org/approve-upgrade"
	downgradeAnnotation = "superset.apache.org/approve-downgrade"
)

// waiting adds a pending image change to a Superset.
func waiting(t *testing.T, sup *unstructured.Unstructured, mode, direction, from, to, token string) {
	t.Helper()
	cl := cluster.Get(t).Client(t, runtime.NewScheme())
	spec := `{"spec":{"image":{"tag":"` + to + `"},"lifecycle":{"upgradeMode":"` + mode + `"}}}`
	if err := cl.Patch(t.Context(), sup, client.RawPatch(types.MergePatchType, []byte(spec))); err != nil {
		t.Fatal(err)
	}
	patchStatus(t, sup, map[string]any{"status": map[string]any{
		"observedGeneration": sup.GetGeneration(), "phase": "AwaitingApproval",
		"lifecycle": map[string]any{"upgrade": map[string]any{
			"fromVersion": from, "toVersion": to, "direction": direction, "approvalToken": token, "startedAt": "2026-03-01T11:00:00Z",
		}},
	}})
}

func annotation(t *testing.T, sup *unstructured.Unstructured, name string) string {
	t.Helper()
	if err := cluster.Get(t).Client(t, runtime.NewScheme()).Get(t.Context(), client.ObjectKeyFromObject(sup), sup); err != nil {
		t.Fatal(err)
	}
	return sup.GetAnnotations()[name]
}

func TestApproveUpgradeWritesChangeToken(t *testing.T) {
	ns := cluster.Get(t).Namespace(t)
	sup := create(t, ns, "fleet.yaml")[0]
	waiting(t, sup, "Supervised", "Upgrade", "6.0.0", "6.1.0", "sha256:one")
	s := newShell(t, ns)

	s.stdin = "n\n"
	s.fail("not approved", "approve-upgrade", "main")
	if !strings.Contains(s.err.String(), "Upgrade from 6.0.0 to 6.1.0\n") || !strings.Contains(s.err.String(), "Approve this change? [y/N]") {
		t.Errorf("the question is %q", s.err)
	}
	s.stdin = ""
	s.fail("not approved", "approve-upgrade", "main")
	if out := s.run("approve-upgrade", "main", "--dry-run=server"); out != "superset/main: 6.0.0 to 6.1.0 approved (server dry run)\n" {
		t.Errorf("got %q", out)
	}
	if got := annotation(t, sup, upgradeAnnotation); got != "" {
		t.Fatalf("approved without a yes: %q", got)
	}
	s.stdin = "yes\n"
	if out := s.run("approve-upgrade", "superset/main"); out != "superset/main: 6.0.0 to 6.1.0 approved\n" {
		t.Errorf("got %q", out)
	}
	if got := annotation(t, sup, upgradeAnnotation); got != "sha256:one" {
		t.Errorf("the annotation holds %q", got)
	}
	if out := s.run("approve-upgrade", "supersets", "main", "--yes"); !strings.Contains(out, "is already approved") {
		t.Errorf("got %q", out)
	}
}

func TestApproveDowngradeRequiresFlag(t *testing.T) {
	ns := cluster.Get(t).Namespace(t)
	sup := create(t, ns, "fleet.yaml")[0]
	waiting(t, sup, "Automatic", "Downgrade", "6.1.0", "6.0.1", "sha256:back")
	s := newShell(t, ns)
	s.fail("is a downgrade", "approve-upgrade", "main", "--yes")
	s.run("approve-upgrade", "main", "--downgrade", "--yes")
	if got := annotation(t, sup, downgradeAnnotation); got != "sha256:back" || annotation(t, sup, upgradeAnnotation) != "" {
		t.Errorf("the annotations are %v", sup.GetAnnotations())
	}
}

func TestApproveUpgradeReportsNothingToApprove(t *testing.T) {
	ns := cluster.Get(t).Namespace(t)
	sup := create(t, ns, "fleet.yaml")[0]
	s := newShell(t, ns)
	s.fail(`no image change is pending (the phase is "Degraded")`, "approve-upgrade", "main", "--yes")
	waiting(t, sup, "Automatic", "Upgrade", "6.0.0", "6.1.0", "sha256:one")
	s.fail("needs no approval", "approve-upgrade", "main", "--yes")
	s.fail("omit --downgrade", "approve-upgrade", "main", "--yes", "--downgrade")
	s.fail("the operator has observed generation 0", "approve-upgrade", "new", "--yes")
	s.fail("only one superset", "approve-upgrade", "fireng", "shop")
}

// hookedInput is an input that calls a function before it returns an answer.
type hookedInput struct {
	beforeRead func()
	reply      io.Reader
}

func (m *hookedInput) Read(p []byte) (int, error) {
	if m.beforeRead != nil {
		m.beforeRead()
		m.beforeRead = nil
	}
	return m.reply.Read(p)
}

func TestApproveUpgradeRejectsChangeSincePrompt(t *testing.T) {
	ns := cluster.Get(t).Namespace(t)
	sup := create(t, ns, "fleet.yaml")[0]
	waiting(t, sup, "Supervised", "Upgrade", "6.0.0", "6.1.0", "sha256:one")
	s := newShell(t, ns)
	beforeRead := func(f func()) {
		s.app = func(a *App) { a.Streams.In = &hookedInput{f, strings.NewReader("yes\n")} }
	}
	beforeRead(func() { waiting(t, sup, "Supervised", "Upgrade", "6.0.0", "6.2.0", "sha256:two") })
	s.fail("the change is now from 6.0.0 to 6.2.0", "approve-upgrade", "main")
	if got := annotation(t, sup, upgradeAnnotation); got != "" {
		t.Fatalf("approved %q, which was never shown", got)
	}
	beforeRead(func() { patchStatus(t, sup, map[string]any{"status": map[string]any{"ready": "2/3"}}) })
	if out := s.run("approve-upgrade", "main"); out != "superset/main: 6.0.0 to 6.2.0 approved\n" {
		t.Errorf("another write of the status must not matter: %q", out)
	}
	if got := annotation(t, sup, upgradeAnnotation); got != "sha256:two" {
		t.Errorf("the annotation holds %q", got)
	}
}

func TestApproveUpgradePromptEndsOnInterrupt(t *testing.T) {
	ns := cluster.Get(t).Namespace(t)
	sup := create(t, ns, "fleet.yaml")[0]
	waiting(t, sup, "Supervised", "Upgrade", "6.0.0", "6.1.0", "sha256:one")
	ctx, interrupt := context.WithCancel(t.Context())
	input, terminal := io.Pipe() // no answer
	defer terminal.Close()
	s := newShell(t, ns)
	s.app = func(a *App) { a.Streams.In = &hookedInput{interrupt, input} }
	if err := s.ended(s.background(ctx, "approve-upgrade", "main")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if got := annotation(t, sup, upgradeAnnotation); got != "" {
		t.Errorf("approved without a yes: %q", got)
	}
}
