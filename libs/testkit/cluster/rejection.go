package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
)

// RejectWrites makes an admission policy reject, with code 403, each creation and update of an object in the namespace whose
// name begins with prefix. It returns once the policy is in effect. The returned function deletes the policy and waits until
// it is not in effect; the end of the test calls it too.
func (c *Cluster) RejectWrites(t testing.TB, namespace, prefix string) (allow func()) {
	t.Helper()
	cl := c.Client(t, scheme.Scheme)
	policy, binding := writePolicy(namespace, prefix)
	probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: prefix + "-probe"}}
	until := func(rejected bool) {
		t.Helper()
		// The test's own context has ended when its cleanup calls this.
		err := await.Nil(context.WithoutCancel(t.Context()), namespaceTimeout, 50*time.Millisecond, func(ctx context.Context) error {
			err := cl.Create(ctx, probe.DeepCopy(), client.DryRunAll)
			switch {
			case err != nil && !apierrors.IsForbidden(err):
				return await.Stop(err)
			case rejected && err == nil:
				return errors.New("it is not in effect")
			case rejected:
				return nil
			}
			return err
		})
		if err != nil {
			t.Errorf("wait for the policy %q: %v", policy.Name, err)
		}
	}
	allow = func() {
		t.Helper()
		for _, o := range []client.Object{binding, policy} {
			if err := cl.Delete(context.WithoutCancel(t.Context()), o); client.IgnoreNotFound(err) != nil {
				t.Error(err)
			}
		}
		until(false)
	}
	t.Cleanup(allow)
	for _, o := range []client.Object{policy, binding} {
		if err := cl.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	until(true)
	return allow
}

func writePolicy(namespace, prefix string) (*admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding) {
	meta := metav1.ObjectMeta{Name: "reject-" + namespace}
	forbidden := metav1.StatusReasonForbidden
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
				Rule:       admissionv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*"}},
			},
		}}},
		Validations: []admissionv1.Validation{{
			Expression: fmt.Sprintf("!object.metadata.name.startsWith(%q)", prefix), Message: "rejected by the test", Reason: &forbidden,
		}},
	}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: meta.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
			MatchLabels: map[string]string{corev1.LabelMetadataName: namespace},
		}},
	}}
	return policy, binding
}
