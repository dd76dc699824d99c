package credentials

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

func TestRetainDetachesSecretAndRecordsID(t *testing.T) {
	for name, tc := range map[string]struct {
		owner        types.UID
		recorded, id string
		external     bool
		patched      bool
		want         string // recorded id
	}{
		"own database":                        {"", "", "new", false, true, "new"},
		"own database of an earlier operator": {"instance", "", "new", false, true, "new"},
		"recorded id":                         {"", "old", "new", false, false, "old"},
		"owner of a recorded id":              {"instance", "old", "new", false, true, "old"},
		"no id yet":                           {"", "", "", false, false, ""},
		"external database":                   {"", "", "new", true, false, ""},
		"external database that replaced it":  {"instance", "", "new", true, true, "new"},
		"another owner":                       {"other", "old", "new", false, false, "old"},
	} {
		t.Run(name, func(t *testing.T) {
			secret := &corev1.Secret{}
			if tc.owner != "" {
				secret.OwnerReferences = []metav1.OwnerReference{{UID: tc.owner}}
			}
			if tc.recorded != "" {
				secret.Annotations = map[string]string{names.AnnotationInstanceID: tc.recorded}
			}
			patched := false
			patch := func(context.Context, client.Object, client.Patch) error { patched = true; return nil }
			if err := Retain(t.Context(), patch, secret, "instance", tc.id, tc.external); err != nil {
				t.Fatal(err)
			}
			if got := secret.Annotations[names.AnnotationInstanceID]; patched != tc.patched || got != tc.want {
				t.Errorf("patched %t, id %q; want %t, %q", patched, got, tc.patched, tc.want)
			}
			for _, o := range secret.OwnerReferences {
				if o.UID == "instance" {
					t.Error("the instance is still an owner")
				}
			}
		})
	}
}
