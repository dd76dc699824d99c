package service

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/namespaces"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
)

// label sets a label of the namespace, or removes it.
func (p env) label(value any) {
	p.Helper()
	ns := &corev1.Namespace{}
	ns.Name = p.ns
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{"team":%v}}}`, value)
	if err := p.c.Patch(p.Context(), ns, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		p.Fatal(err)
	}
}

func TestServiceFollowsLabelsOfNamespaces(t *testing.T) {
	first, second := newEnv(t), newEnv(t)
	// Without an election it restarts at once.
	s := start(t, "mark", nil, "--kubeconfig="+first.kube, "--leader-elect=false", "--watch-namespace-selector=team="+first.ns)
	s.logged("No namespace matches, waiting", 1)
	s.wantResponse(s.health, "/readyz", http.StatusOK) // it has nothing to do

	first.label(fmt.Sprintf("%q", first.ns))
	first.marks("first")
	second.label(fmt.Sprintf("%q", first.ns))
	second.marks("first")
	first.marks("second")
	s.logged(namespaces.ErrChanged.Error(), 1)

	second.label("null")
	s.logged(namespaces.ErrChanged.Error(), 2)
	first.marks("third")
	s.stop()
}

func TestStandbyRestartsBeforeLeader(t *testing.T) {
	first, second := newEnv(t), newEnv(t)
	first.label(fmt.Sprintf("%q", first.ns))
	args := []string{"--kubeconfig=" + first.kube, "--leader-election-namespace=" + first.ns, "--watch-namespace-selector=team=" + first.ns}
	leader := start(t, "mark", nil, args...)
	first.marks("first")
	standby := start(t, "mark", nil, args...)
	const selected = "Selected the namespaces to watch"
	standby.logged(selected, 1)

	second.label(fmt.Sprintf("%q", first.ns))
	leader.logged(namespaces.ErrChanged.Error(), 1)
	if strings.Count(standby.log.String(), selected) != 2 {
		t.Error("the leader restarts while the standby does not serve")
	}
	second.marks("first")
	leader.stop()
	standby.stop()
}

func TestCommandsUseSelectedNamespaces(t *testing.T) {
	p, other := newEnv(t), newEnv(t)
	o := Options{Kubeconfig: cluster.Get(t).Kubeconfig, WatchNamespaceSelector: "team=" + p.ns}
	if got, err := o.Namespaces(t.Context()); !errors.Is(err, ErrNoNamespace) {
		t.Errorf("got %v, %v without a match, want ErrNoNamespace", got, err)
	}
	for _, labeled := range []env{p, other} {
		labeled.label(fmt.Sprintf("%q", p.ns))
	}
	want := []string{p.ns, other.ns}
	slices.Sort(want)
	if got, err := o.Namespaces(t.Context()); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if got, err := (Options{WatchNamespaces: []string{"a"}}).Namespaces(t.Context()); err != nil || !slices.Equal(got, []string{"a"}) {
		t.Errorf("got %v, %v, want those of the flag", got, err)
	}
}
