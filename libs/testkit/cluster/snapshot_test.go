package cluster_test

import (
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
)

func TestSnapshotRestoresCluster(t *testing.T) {
	t.Parallel()
	c := cluster.Private(t, cluster.Options{Nodes: 1})
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	k := c.Client(t, scheme)
	configMap := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	}
	before, after := configMap("before"), configMap("after")
	if err := k.Create(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	snapshot := c.Save(t)
	if err := k.Delete(t.Context(), before.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	if err := k.Create(t.Context(), after); err != nil {
		t.Fatal(err)
	}
	// A starting control plane itself writes some hundred versions.
	for i := range 1000 {
		after.Data = map[string]string{"i": strconv.Itoa(i)}
		if err := k.Update(t.Context(), after); err != nil {
			t.Fatal(err)
		}
	}
	var list corev1.ConfigMapList
	version := func() int64 {
		if err := k.List(t.Context(), &list, client.InNamespace("default")); err != nil {
			t.Fatal(err)
		}
		n, err := strconv.ParseInt(list.ResourceVersion, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	latest := version()
	c.Restore(t, snapshot)
	if now := version(); now >= latest {
		t.Errorf("version %d after %d", now, latest)
	}
	restored := configMap("before")
	if err := k.Get(t.Context(), client.ObjectKeyFromObject(restored), restored); err != nil || restored.UID != before.UID {
		t.Errorf("uid %s, want %s (%v)", restored.UID, before.UID, err)
	}
	if err := k.Get(t.Context(), client.ObjectKeyFromObject(after), after); !apierrors.IsNotFound(err) {
		t.Errorf("an object created later exists: %v", err)
	}
}
