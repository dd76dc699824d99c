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

// watched is a selection of objects for one informer.
type watched struct {
	kinds.Mapping
	namespace, name string
}

func watchedKinds(mappings []kinds.Mapping, namespace string) []watched {
	out := make([]watched, len(mappings))
	for i, m := range mappings {
		out[i] = watched{m, namespace, ""}
	}
	return out
}

func watchedTargets(cluster *kinds.Cluster, targets []kinds.Target) []watched {
	out := make([]watched, len(targets))
	for i, t := range targets {
		out[i] = watched{t.Mapping, cluster.Namespace, t.Name}
	}
	return out
}

// sighting is a resource after a change or a deletion.
type sighting struct {
	view.Resource
	gone bool
}

// watch prints each change until the context ends, which is not an error.
func (a *App) watch(ctx context.Context, cluster *kinds.Cluster, o statusOptions, what []watched) error {
	ctx, cancel := context.WithCancel(ctx)
	seen := make(chan sighting)
	var running sync.WaitGroup
	for _, w := range what {
		informer, err := a.informer(ctx, cluster, w, seen)
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
		case s := <-seen:
			if before, known := printed[s.UID]; known && !s.gone && reflect.DeepEqual(before, s.Resource) {
				continue
			}
			printed[s.UID] = s.Resource
			if err := a.printSighting(o, ticker, s, what[0].name != ""); err != nil {
				return err
			}
		}
	}
}

// informer sends each change to the channel until the context ends. It reports watch errors and retries.
func (a *App) informer(ctx context.Context, cluster *kinds.Cluster, w watched, seen chan<- sighting) (cache.SharedInformer, error) {
	send := func(o any, gone bool) {
		if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
			o = last.Obj
		}
		u, ok := o.(*unstructured.Unstructured)
		if !ok {
			return
		}
		select {
		case seen <- sighting{view.Of(w.Kind, u), gone}:
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
				a.say("note: watch %s: %v; retrying", w.Resource.Resource, err)
			}
		})
	}
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", w.Resource.Resource, err)
	}
	return informer, nil
}

func (a *App) printSighting(o statusOptions, ticker *printer.Ticker, s sighting, tree bool) error {
	now := a.Clock.Now()
	switch {
	case s.gone:
		a.say("%s in %s was deleted", s.Ref(), s.Namespace)
		return nil
	case o.output == printer.JSON || o.output == printer.YAML:
		if o.output == printer.YAML {
			fmt.Fprintln(a.Streams.Out, "---")
		}
		return printer.Machine(a.Streams.Out, o.output, s.Resource)
	case tree:
		if err := printer.Tree(a.Streams.Out, s.Resource, now); err != nil {
			return err
		}
		fmt.Fprintln(a.Streams.Out)
		return nil
	}
	return ticker.Add(a.Streams.Out, s.Resource, now)
}
