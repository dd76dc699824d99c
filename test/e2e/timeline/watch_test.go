package timeline

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// cutOff fakes an API server whose watches end after the first event. The object is deleted after the first watch.
type cutOff struct {
	client.WithWatch
	watches int
	end     context.CancelFunc
}

func (c *cutOff) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	if c.watches > 0 {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "boats"}, "b")
	}
	return nil
}

func (c *cutOff) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	w := watch.NewFakeWithChanSize(1, false)
	if c.watches++; c.watches == 1 {
		w.Add(state("stable"))
	} else {
		c.end()
	}
	w.Stop()
	return w, nil
}

func TestWatchRecordsDeletionBetweenWatches(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := NewRecorder(time.Now)
	r.Watch(ctx, &cutOff{end: cancel}, testObject)
	var phases []string
	for _, c := range r.Changes() {
		phases = append(phases, c.Status)
	}
	if len(phases) != 2 || phases[0] != "stable" || phases[1] != "" {
		t.Errorf("phases %q, want stable and none", phases)
	}
}
