package resolve_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// security returns a context with a UID and runAsNonRoot, and otherwise the defaults.
func security(user *int64, nonRoot *bool) *corev1.SecurityContext {
	return &corev1.SecurityContext{
		RunAsUser: user, RunAsNonRoot: nonRoot, AllowPrivilegeEscalation: new(false),
		Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

type securityCase struct {
	pod  *v1alpha1.PodTemplate
	kind v1alpha1.DatabaseType
	want *corev1.SecurityContext
}

// checkSecurity compares the contexts of both containers that run tools of the database.
func checkSecurity(t *testing.T, cases map[string]securityCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			edit := func(s *v1alpha1.SupersetSpec) {
				if tc.kind != "" {
					s.Metastore.Type, s.Lifecycle.Clone.Source.Type = &tc.kind, &tc.kind
				}
				s.PodTemplate = tc.pod
			}
			if diff := cmp.Diff(tc.want, taskOf(resolve.Migrate, edit).CreateDatabase.Security); diff != "" {
				t.Errorf("create-database differs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, taskOf(resolve.Clone, edit).Pod.Container.SecurityContext); diff != "" {
				t.Errorf("clone differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestW20DatabaseToolsRunAsNonRootByDefault(t *testing.T) {
	checkSecurity(t, map[string]securityCase{
		"PostgreSQL": {kind: v1alpha1.PostgreSQL, want: security(new(int64(70)), new(true))},
		"MySQL":      {kind: v1alpha1.MySQL, want: security(new(int64(999)), new(true))},
	})
}

func TestDatabaseToolsRespectSecurityOfPod(t *testing.T) {
	inPod := func(s *corev1.PodSecurityContext) *v1alpha1.PodTemplate {
		return &v1alpha1.PodTemplate{PodSecurityContext: s}
	}
	withProfile := security(new(int64(70)), new(true))
	withProfile.SeccompProfile = nil
	checkSecurity(t, map[string]securityCase{
		"a user of the pod": {
			pod:  inPod(&corev1.PodSecurityContext{RunAsUser: new(int64(0))}),
			want: security(nil, nil),
		},
		"root is allowed": {
			pod:  inPod(&corev1.PodSecurityContext{RunAsNonRoot: new(false)}),
			want: security(nil, nil),
		},
		"a pod that must not be root still needs a user": {
			pod:  inPod(&corev1.PodSecurityContext{RunAsNonRoot: new(true)}),
			want: security(new(int64(70)), nil),
		},
		"a profile of the pod": {
			pod:  inPod(&corev1.PodSecurityContext{SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}}),
			want: withProfile,
		},
	})
}

func TestDatabaseToolsRespectSecurityOfContainer(t *testing.T) {
	inContainer := func(s *corev1.SecurityContext) *v1alpha1.PodTemplate {
		return container(&v1alpha1.ContainerTemplate{SecurityContext: s})
	}
	checkSecurity(t, map[string]securityCase{
		"a user of the container": {
			pod:  inContainer(&corev1.SecurityContext{RunAsUser: new(int64(5))}),
			want: security(new(int64(5)), nil),
		},
		"a privileged container stays privileged": {
			pod:  inContainer(&corev1.SecurityContext{Privileged: new(true)}),
			want: &corev1.SecurityContext{Privileged: new(true), RunAsUser: new(int64(70)), RunAsNonRoot: new(true)},
		},
		"capabilities of the user": {
			pod: inContainer(&corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"SYS_ADMIN"}}}),
			want: &corev1.SecurityContext{
				RunAsUser: new(int64(70)), RunAsNonRoot: new(true),
				Capabilities:   &corev1.Capabilities{Add: []corev1.Capability{"SYS_ADMIN"}},
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
		},
	})
}

func TestCustomCommandInCustomImageKeepsUser(t *testing.T) {
	task := taskOf(resolve.Clone, func(s *v1alpha1.SupersetSpec) {
		s.Lifecycle.Clone.Image = &v1alpha1.ContainerImageSpec{Repository: "tools"}
		s.Lifecycle.Clone.Command = []string{"/clone"}
	})
	want := &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if diff := cmp.Diff(want, task.Pod.Container.SecurityContext); diff != "" {
		t.Errorf("security context differs (-want +got):\n%s", diff)
	}
}

func TestCreateDatabaseRequiresStructuredMetastore(t *testing.T) {
	cases := map[string]struct {
		metastore *v1alpha1.MetastoreSpec
		want      bool
	}{
		"none":       {},
		"a URI":      {metastore: &v1alpha1.MetastoreSpec{URI: new("x"), CreateDatabase: new(true)}},
		"unset":      {metastore: &v1alpha1.MetastoreSpec{Host: new("h")}},
		"turned off": {metastore: &v1alpha1.MetastoreSpec{Host: new("h"), CreateDatabase: new(false)}},
		"configured": {metastore: &v1alpha1.MetastoreSpec{Host: new("h"), CreateDatabase: new(true)}, want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			task := taskOf(resolve.Migrate, func(s *v1alpha1.SupersetSpec) { s.Metastore, s.Lifecycle.Clone = tc.metastore, nil })
			if got := task.CreateDatabase != nil; got != tc.want {
				t.Errorf("created: %v", got)
			}
		})
	}
}
