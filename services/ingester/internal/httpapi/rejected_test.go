package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
)

// rejecting returns a Cluster with objects, whose API server returns the errors to the patches of the named ones.
func rejecting(permitted bool, rejections map[string]error, objects ...runtime.Object) Cluster {
	kinds := map[schema.GroupVersionResource]string{{Group: api.Group, Version: api.Version, Resource: "models"}: "ModelList"}
	d := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objects...)
	d.PrependReactor("patch", "models", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return true, objects[0], rejections[action.(clienttesting.PatchAction).GetName()]
	})
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(schema.FromAPIVersionAndKind(api.GroupVersion, "Model"), meta.RESTScopeNamespace)
	review := func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
		o.(*authorizationv1.SelfSubjectAccessReview).Status.Allowed = permitted
		return nil
	}
	permissions := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithRESTMapper(mapper).
		WithInterceptorFuncs(interceptor.Funcs{Create: review}).Build()
	return &liveCluster{dynamic: d, permissions: permissions}
}

var (
	errDenied  = apierrors.NewForbidden(models, "churn", errors.New("denied by a policy"))
	errBad     = apierrors.NewBadRequest("denied by a webhook")
	errInvalid = apierrors.NewInvalid(schema.GroupKind{Kind: "Model"}, "churn", nil)
)

func TestDeleteReturnsRejectionOfObject(t *testing.T) {
	for name, tc := range map[string]struct {
		err       error
		permitted bool
		code      int
		message   string
	}{
		"a policy":             {errDenied, true, http.StatusForbidden, "denied by a policy"},
		"a webhook":            {errBad, true, http.StatusUnprocessableEntity, "denied by a webhook"},
		"the schema":           {errInvalid, true, http.StatusUnprocessableEntity, `"churn" is invalid`},
		"a missing permission": {errDenied, false, http.StatusInternalServerError, "see the log of the ingester"},
		"no rejection":         {apierrors.NewServiceUnavailable("starting"), true, http.StatusServiceUnavailable, "does not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newEnv(t, func(c *Config) { c.Cluster = rejecting(tc.permitted, map[string]error{"churn": tc.err}, model(7)) })
			a := b.send(http.MethodDelete, churn, "")
			b.status(a, tc.code, tc.message)
			if later := a.Header.Get("Retry-After"); (later != "") != (tc.code == http.StatusServiceUnavailable) {
				t.Errorf("Retry-After is %q", later)
			}
		})
	}
}

func TestDeleteCollectionContinuesAfterRejections(t *testing.T) {
	const n = 3 * deleteWorkers
	var stored []runtime.Object
	rejections := map[string]error{}
	b := newEnv(t, func(c *Config) {
		for i := range n {
			u := dbtest.Model(fmt.Sprintf("m-%02d", i), fmt.Sprintf("uid-%d", i), 7)
			stored = append(stored, u)
			switch i {
			case 2:
				rejections[u.GetName()] = apierrors.NewForbidden(models, u.GetName(), errors.New("denied by a policy"))
			case 1:
				rejections[u.GetName()] = errBad
			}
		}
		c.Cluster = rejecting(true, rejections, stored...)
	})
	b.store.list.Items, b.store.list.Continue = stored, "next"
	s := b.status(b.send(http.MethodDelete, objects, ""), http.StatusAccepted, fmt.Sprintf("%d of models: %d marked for deletion, ", n, n-2))
	b.status(b.send(http.MethodDelete, objects+"?dryRun=All", ""), http.StatusAccepted,
		`2 rejected; the first is "m-01": denied by a webhook`)
	if s.Continue != "next" {
		t.Errorf("continue is %q", s.Continue)
	}
}
