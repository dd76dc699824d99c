package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/kinds"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/printer"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/view"
)

// selection is a selection of objects for one informer.
type selection struct {
	kinds.Mapping
	namespace, name string
}

func watchedKinds(mappings []kinds.Mapping, namespace string) []selection {
	out := make([]selection, len(mappings))
	for i, m := range mappings {
		out[i] = selection{m, namespace, ""}
	}
	return out
}

func watchedTargets(cluster *kinds.Cluster, targets []kinds.Target) []selection {
	out := make([]selection, len(targets))
	for i, t := range targets {
		out[i] = selection{t.Mapping, cluster.Namespace, t.Name}
	}
	return out
}

// resourceUpdate is a resource after a change or a deletion.
type resourceUpdate struct {
	view.Resource
	deleted bool
}

// watch prints each change until the context ends, which is not an error.
func (a *App) watch(ctx context.Context, cluster *kinds.Cluster, o statusOptions, selections []selection) error {
	ctx, cancel := context.WithCancel(ctx)
	updates := make(chan resourceUpdate)
	var running sync.WaitGroup
	for _, w := range selections {
		informer, err := a.informer(ctx, cluster, w, updates)
		if err != nil {
			cancel()
			running.Wait()
			return err
		}
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	defer running.Wait()
	defer cancel()

	printed := map[string]view.Resource{}
	ticker := &printer.Ticker{Columns: o.columns()}
	for {
		select {
		case <-ctx.Done():
			return nil
		case s := <-updates:
			if before, known := printed[s.UID]; known && !s.deleted && reflect.DeepEqual(before, s.Resource) {
				continue
			}
			printed[s.UID] = s.Resource
			if err := a.printUpdate(o, ticker, s, selections[0].name != ""); err != nil {
				return err
			}
		}
	}
}

// informer sends each change to the channel until the context ends. It reports watch errors and retries.
func (a *App) informer(ctx context.Context, cluster *kinds.Cluster, w selection, updates chan<- resourceUpdate) (cache.SharedInformer, error) {
	send := func(o any, deleted bool) {
		if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
			o = last.Obj
		}
		u, ok := o.(*unstructured.Unstructured)
		if !ok {
			return
		}
		select {
		case updates <- resourceUpdate{view.Of(w.Kind, u), deleted}:
		case <-ctx.Done():
		}
	}
	informer := cache.NewSharedInformer(cluster.ListWatch(w.Mapping, w.namespace, w.name), &unstructured.Unstructured{}, 0)
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { send(o, false) },
		UpdateFunc: func(_, o any) { send(o, false) },
		DeleteFunc: func(o any) { send(o, true) },
	})
	if err == nil {
		err = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
			if !apierrors.IsResourceExpired(err) && !errors.Is(err, io.EOF) { // both are normal ends of a watch
				a.notify("note: watch %s: %v; retrying", w.Resource.Resource, err)
			}
		})
	}
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", w.Resource.Resource, err)
	}
	return informer, nil
}

func (a *App) printUpdate(o statusOptions, ticker *printer.Ticker, s resourceUpdate, tree bool) error {
	now := a.Clock.Now()
	switch {
	case s.deleted:
		a.notify("%s in %s was deleted", s.Ref(), s.Namespace)
		return nil
	case o.output == printer.JSON || o.output == printer.YAML:
		if o.output == printer.YAML {
			fmt.Fprintln(a.Streams.Out, "---")
		}
		return printer.Encode(a.Streams.Out, o.output, s.Resource)
	case tree:
		if err := printer.Tree(a.Streams.Out, s.Resource, now); err != nil {
			return err
		}
		fmt.Fprintln(a.Streams.Out)
		return nil
	}
	return ticker.Add(a.Streams.Out, s.Resource, now)
}
