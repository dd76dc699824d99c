package httpapi

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// fakeCluster has one object, or an error. It simulates states that a real API server
// does not reach on demand; real_test.go uses the real one.
type fakeCluster struct {
	object *unstructured.Unstructured
	err    error
	mark   func(Mark) error
	marks  []Mark
	gets   int
}

func (f *fakeCluster) Get(_ context.Context, kind *registry.Kind, _, name string) (*unstructured.Unstructured, error) {
	f.gets++
	switch {
	case f.err != nil:
		return nil, f.err
	case f.object == nil || f.object.GetName() != name:
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: api.Group, Resource: kind.Plural}, name)
	}
	return f.object.DeepCopy(), nil
}

func (f *fakeCluster) MarkDeleting(_ context.Context, _ *registry.Kind, mark Mark) error {
	f.marks = append(f.marks, mark)
	if f.mark != nil {
		return f.mark(mark)
	}
	return nil
}

// fakeStore records requests.
type fakeStore struct {
	object    *unstructured.Unstructured
	list      storage.ListResponse
	err       error
	request   listRequest
	namespace string
	closed    []string
	panics    bool
	onRead    func() // before a row is read
}

func (f *fakeStore) GetByName(_ context.Context, _, name string, object runtime.Object) error {
	if f.panics {
		var nilStore *fakeStore
		nilStore.closed = nil
	}
	if f.onRead != nil {
		f.onRead()
	}
	switch {
	case f.err != nil:
		return f.err
	case f.object == nil || f.object.GetName() != name:
		return storage.ErrNotFound
	}
	f.object.DeepCopyInto(object.(*unstructured.Unstructured))
	return nil
}

func (f *fakeStore) List(_ context.Context, _ *metav1.TypeMeta, namespace string, o *metav1.ListOptions, ext *storage.ListOptionsExt, response *storage.ListResponse) error {
	f.namespace, f.request = namespace, listRequest{options: *o, ext: *ext}
	*response = f.list
	return f.err
}

func (f *fakeStore) DeleteCollection(_ context.Context, _ *metav1.TypeMeta, namespace string, _ *metav1.DeleteOptions, o *metav1.ListOptions) error {
	f.closed = append(f.closed, namespace+" "+o.FieldSelector)
	return f.err
}

// manyClusters is a fakeCluster with several objects, for concurrent use.
type manyClusters struct {
	*fakeCluster
	mu   sync.Mutex
	live map[string]*unstructured.Unstructured
}

func (m *manyClusters) Get(ctx context.Context, kind *registry.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.object = m.live[name]
	return m.fakeCluster.Get(ctx, kind, namespace, name)
}

func (m *manyClusters) MarkDeleting(ctx context.Context, kind *registry.Kind, mark Mark) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fakeCluster.MarkDeleting(ctx, kind, mark)
}

// manyStored is a fakeStore with several objects, for concurrent use. The object named gone
// is listed, but does not exist.
type manyStored struct {
	*fakeStore
	mu     sync.Mutex
	stored []*unstructured.Unstructured
}

func (m *manyStored) GetByName(ctx context.Context, namespace, name string, object runtime.Object) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.object = nil
	for _, u := range m.stored {
		if u.GetName() == name && name != "gone" {
			m.object = u
		}
	}
	return m.fakeStore.GetByName(ctx, namespace, name, object)
}

func (m *manyStored) DeleteCollection(ctx context.Context, tm *metav1.TypeMeta, namespace string, d *metav1.DeleteOptions, o *metav1.ListOptions) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fakeStore.DeleteCollection(ctx, tm, namespace, d, o)
}
