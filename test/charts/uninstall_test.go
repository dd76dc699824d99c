package charts

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// failsOnce makes an uninstall fail: a quota rejects the pod of the Job that removes the finalizers.
func (p env) failsOnce() {
	p.Helper()
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "no-pods"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}},
	}
	p.create(quota)
	expect.Object(p, p.client, quota, func(q *corev1.ResourceQuota) error {
		if len(q.Status.Hard) == 0 {
			return errors.New("the quota is not enforced yet")
		}
		return nil
	})
	_, err := p.tryHelm("uninstall", p.service, "--wait", "--timeout", "8s")
	if err == nil {
		p.Error("the uninstall succeeded without its Job")
	}
	if err := p.client.Delete(p.Context(), quota); err != nil {
		p.Fatal(err)
	}
}

// jobs runs the command lines of all hook Jobs with the permissions of the hooks.
func (p env) jobs(hooks []*unstructured.Unstructured, checks map[string]func(env, string)) {
	p.Helper()
	missing := maps.Clone(checks)
	for _, doc := range hooks {
		switch doc.GetKind() {
		case "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding":
			made := doc.DeepCopy()
			if err := p.client.Create(p.Context(), made); err != nil {
				p.Fatal(err)
			}
			defer func() {
				if err := p.client.Delete(p.Context(), made); err != nil {
					p.Error(err)
				}
			}()
		}
	}
	for _, doc := range hooks {
		if doc.GetKind() != "Job" {
			continue
		}
		check := checks[doc.GetName()]
		delete(missing, doc.GetName())
		if check == nil {
			p.Errorf("no check of Job %s", doc.GetName())
			continue
		}
		var output string
		expect.Eventually(p, expect.Long, func() (err error) { // a new role takes effect with a delay
			if output, err = p.run(doc); err != nil {
				return fmt.Errorf("%s: %w\n%s", doc.GetName(), err, output)
			}
			return nil
		})
		check(p, output)
	}
	if len(missing) > 0 {
		p.Errorf("Jobs not found: %v", slices.Sorted(maps.Keys(missing)))
	}
}

// listable returns the kinds of which objects can be listed and deleted.
func (p env) listable() (out []schema.GroupVersionKind) {
	p.Helper()
	d, err := discovery.NewDiscoveryClientForConfig(cluster.Get(p).Config)
	if err != nil {
		p.Fatal(err)
	}
	lists, err := d.ServerPreferredResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		p.Fatal(err)
	}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			p.Fatal(err)
		}
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "delete") {
				out = append(out, gv.WithKind(r.Kind))
			}
		}
	}
	return out
}

// left lists the objects of the kinds with the label of the release.
func (p env) left(kinds ...schema.GroupVersionKind) (out []string) {
	p.Helper()
	for _, kind := range kinds {
		var found metav1.PartialObjectMetadataList
		found.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := p.client.List(p.Context(), &found, client.MatchingLabels{"app.kubernetes.io/instance": p.service})
		if err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) { // the kind was just removed
			p.Fatalf("list %s: %v", kind.Kind, err)
		}
		for _, item := range found.Items {
			out = append(out, kind.Kind+" "+item.GetName())
		}
	}
	return out
}

// nothingLeft waits until the release has left no objects, among those whose kind and name end with suffix.
func (p env) nothingLeft(suffix string) {
	p.Helper()
	kinds := p.listable()
	check := func(kinds ...schema.GroupVersionKind) error {
		for _, object := range p.left(kinds...) {
			if strings.HasSuffix(object, suffix) {
				return fmt.Errorf("%s is left", object)
			}
		}
		return nil
	}
	rest := kinds // those of which objects may be left: listing all kinds at each check would slow down the API server
	expect.Eventually(p, expect.Long, func() error {
		for ; len(rest) > 0; rest = rest[1:] {
			if err := check(rest[0]); err != nil {
				return err
			}
		}
		rest = kinds
		return check(kinds...) // a controller may have created another one
	})
}

func (p env) absent(kind, name string) {
	p.Helper()
	var o client.Object = &corev1.Secret{}
	if kind == "Lease" {
		o = &coordinationv1.Lease{}
	}
	err := p.client.Get(p.Context(), client.ObjectKey{Namespace: p.namespace, Name: name}, o)
	if client.IgnoreNotFound(err) != nil || err == nil {
		p.Errorf("%s %s is left: %v", kind, name, err)
	}
}

// definitions uninstalls the CRD chart. The CRDs stay unless keep=false.
func (p env) definitions() {
	p.Helper()
	name := p.service + "-crds"
	var crds []*unstructured.Unstructured
	for _, doc := range documents(p, p.helm("get", "manifest", name)) {
		crd := &unstructured.Unstructured{}
		crd.SetGroupVersionKind(doc.GroupVersionKind())
		crd.SetName(doc.GetName())
		crds = append(crds, crd)
	}
	p.uninstallCRDs()
	for _, crd := range crds {
		if err := p.client.Get(p.Context(), client.ObjectKeyFromObject(crd), crd); err != nil {
			p.Errorf("the CRD was deleted: %v", err)
		}
	}
	p.installCRDs("--set", "keep=false")
	p.uninstallCRDs()
	for _, crd := range crds {
		expect.Deleted(p, p.client, crd)
	}
}
