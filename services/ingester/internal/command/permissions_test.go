package command_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/command"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/command/commandtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/removefinalizers"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/restore"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/verify"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(cluster.Main(m, cluster.Options{CRDs: []string{"../../config/crd"}, Nodes: 1}))
}

// roles reads config/rbac/operator_role.yaml.
func roles(t *testing.T) (*rbacv1.ClusterRole, *rbacv1.Role) {
	t.Helper()
	raw, err := os.ReadFile("../../config/rbac/operator_role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	first, second, ok := bytes.Cut(raw, []byte("\n---\n"))
	if !ok {
		t.Fatal("the file does not hold two roles")
	}
	wide, narrow := &rbacv1.ClusterRole{}, &rbacv1.Role{}
	if err := yaml.UnmarshalStrict(first, wide); err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(second, narrow); err != nil {
		t.Fatal(err)
	}
	return wide, narrow
}

func TestOperatorRoleListsAllKinds(t *testing.T) {
	wide, _ := roles(t)
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	for rule, suffix := range map[int]string{0: "", 1: "/status"} {
		var want []string
		for _, kind := range kinds.Kinds() {
			want = append(want, kind.Plural+suffix)
		}
		if got := strings.Join(wide.Rules[rule].Resources, " "); got != strings.Join(want, " ") {
			t.Errorf("rule %d names %s, want %v", rule, got, want)
		}
	}
}

// as returns a client of a user without other permissions.
func as(t *testing.T, b *commandtest.Env, user string) client.Client {
	t.Helper()
	cfg := rest.CopyConfig(cluster.Get(t).Config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user}
	c, err := client.New(cfg, client.Options{Scheme: b.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// runner is any of the commands.
type runner interface {
	Run(ctx context.Context, env command.Env, out io.Writer) error
}

func commands() map[string]runner {
	return map[string]runner{
		"verify":            &verify.Command{Options: verify.Options{Deep: true}, Repair: true},
		"restore":           &restore.Command{Existing: "skip", Rate: 10000},
		"remove-finalizers": &removefinalizers.Command{},
	}
}

func TestCommandsNeedNoOtherPermissions(t *testing.T) {
	b := commandtest.New(t)
	wide, narrow := roles(t)
	subject := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "operator"}}
	narrow.Namespace = b.Namespace // it holds the Lease of the environment
	bindWide := &rbacv1.ClusterRoleBinding{RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: wide.Name}, Subjects: subject}
	bindWide.Name = wide.Name
	bindNarrow := &rbacv1.RoleBinding{RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: narrow.Name}, Subjects: subject}
	bindNarrow.Namespace, bindNarrow.Name = b.Namespace, narrow.Name
	for _, object := range []client.Object{wide, narrow, bindWide, bindNarrow} {
		if err := b.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	b.Create(b.Model("missing"))
	b.Patch(b.Stored(b.Model("stale")), `{"spec":{"algorithm":"x"}}`)
	p := b.Create(b.Project("lost"))
	p.Object["status"] = map[string]any{"phase": "PROJECT_PHASE_STAGING"}
	if err := b.Client.Status().Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	b.Upsert(p)
	env := b.Env
	env.Client = as(t, b, "operator")
	var out strings.Builder
	for _, step := range []string{"verify", "restore", "remove-finalizers"} {
		if step == "restore" {
			b.Wipe(p)
		}
		if err := commands()[step].Run(t.Context(), env, &out); err != nil {
			t.Errorf("%s: %v", step, err)
		}
	}
	if phase := b.Get(p).Object["status"]; phase == nil || len(p.GetFinalizers()) > 0 {
		t.Errorf("restored and released: status %v, finalizers %v", phase, p.GetFinalizers())
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

func TestCommandsReportMissingPermissions(t *testing.T) {
	b := commandtest.New(t)
	env := b.Env
	env.Client = as(t, b, "unprivileged")
	for name, c := range commands() {
		err := c.Run(t.Context(), env, io.Discard)
		if err == nil || !strings.Contains(err.Error(), `User "unprivileged" cannot`) || !strings.Contains(err.Error(), "config/rbac/operator_role.yaml grants the required permissions") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
