// Package namespaces selects namespaces by their labels, and detects when others match.
package namespaces

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// ErrChanged means that other namespaces match the selector than before.
var ErrChanged = errors.New("other namespaces match the selector")

// settleTime is the least time from a change to its report, so that several changes cause one report.
const settleTime = 2 * time.Second

var resource = corev1.SchemeGroupVersion.WithResource("namespaces")

// Selection selects namespaces by their labels.
type Selection struct {
	Config   *rest.Config
	Selector string
	Clock    clock.Clock
	Log      logr.Logger
	// OnWait is called before Start waits for the first match.
	OnWait func()
	// Delay returns how much later than settleTime a change is reported.
	Delay func() time.Duration
}

// Start returns the names of the namespaces that match the label selector, in order. It waits until there is at least one,
// since an empty list means all namespaces to caches, and returns none if ctx ends before. The returned context ends, with
// the cause ErrChanged, when the namespaces that match are no longer the same.
func (s Selection) Start(ctx context.Context) (context.Context, []string, error) {
	client, err := metadata.NewForConfig(s.Config)
	if err != nil {
		return nil, nil, fmt.Errorf("select namespaces: %w", err)
	}
	informer := metadatainformer.NewFilteredMetadataInformer(client, resource,
		metav1.NamespaceAll, 0, cache.Indexers{}, func(o *metav1.ListOptions) { o.LabelSelector = s.Selector }).Informer()
	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default: // the reader has not read the previous one yet
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { notify() }, DeleteFunc: func(any) { notify() },
	}); err != nil {
		return nil, nil, fmt.Errorf("select namespaces: %w", err)
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return ctx, nil, nil
	}
	names := informer.GetStore().ListKeys()
	if len(names) == 0 {
		s.Log.Info("No namespace matches, waiting", "selector", s.Selector)
		s.OnWait()
	}
	for ; len(names) == 0; names = informer.GetStore().ListKeys() {
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx, nil, nil
		}
	}
	slices.Sort(names)
	selected, cancel := context.WithCancelCause(ctx)
	same := func() bool { return slices.Equal(names, slices.Sorted(slices.Values(informer.GetStore().ListKeys()))) }
	go func() {
		for same() {
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
			if same() {
				continue
			}
			select {
			case <-s.Clock.After(settleTime + s.Delay()):
			case <-ctx.Done():
				return
			}
		}
		cancel(ErrChanged)
	}()
	return selected, names, nil
}

// List returns the names of the namespaces that match the label selector now, in order.
func List(ctx context.Context, cfg *rest.Config, selector string) ([]string, error) {
	client, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("list namespaces: %w", err)
	}
	list, err := client.Resource(resource).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("list namespaces: %w", err)
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	slices.Sort(names)
	return names, nil
}
