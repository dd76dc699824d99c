package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
	"github.com/flotilla-dev/flotilla/test/stack/benchenv"
)

// whole measures a fleet of the given size: its creation, its rollout where that is measured, a restart of the
// operator, and how long a user waits for the first answer to an edit while all others are at work.
func (w fleet) whole(ctx context.Context, e *benchenv.Env, f *benchenv.Figures) error {
	n := sizes["fleet"]
	if err := e.ScaleNodes(ctx, 2*n*w.pods); err != nil {
		return err
	}
	edited := w.new("edited")
	if err := e.Bring(ctx, []client.Object{edited}, e.Create, w.arrived); err != nil {
		return err
	}
	phase := func(name string, write benchenv.Write, arrived func(client.Object) bool) error {
		var slowest time.Duration
		cost, err := e.Work(ctx, w.objects(0, n), write, arrived, func(ctx context.Context) (err error) {
			slowest, err = w.editing(ctx, e, edited)
			return err
		})
		if err != nil {
			return err
		}
		f.Work(fmt.Sprintf("%s%d", name, n), cost)
		f.Report(fmt.Sprintf("%s%d.slowest_edit_seconds", name, n), slowest.Seconds(), "s")
		rss, err := e.Operator.RSS()
		f.Report(fmt.Sprintf("%s%d.rss_mb", name, n), rss/1e6, "MB")
		return err
	}
	if err := phase("create", e.Create, w.arrived); err != nil {
		return err
	}
	if w.roll != nil {
		if err := phase("rollout", w.roll(e), w.rolled); err != nil {
			return err
		}
	}
	cost, err := e.Restart(ctx, n)
	if err != nil {
		return err
	}
	f.Work(fmt.Sprintf("restart%d", n), cost)
	rss, err := e.Operator.RSS()
	f.Report(fmt.Sprintf("restart%d.rss_mb", n), rss/1e6, "MB")
	return err
}

// editing edits one object again and again until its context ends, each time when the operator has observed the edit before.
// It returns the longest time to an observation.
func (w fleet) editing(ctx context.Context, e *benchenv.Env, edited *unstructured.Unstructured) (slowest time.Duration, err error) {
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return slowest, nil
		case <-time.After(500 * time.Millisecond):
		}
		took, err := w.editOnce(context.WithoutCancel(ctx), e, edited.DeepCopy(), i)
		if err != nil {
			return slowest, fmt.Errorf("edit %s: %w", edited.GetName(), err)
		}
		slowest = max(slowest, took)
	}
}

// editOnce returns the time from an edit to its observation.
func (w fleet) editOnce(ctx context.Context, e *benchenv.Env, obj *unstructured.Unstructured, i int) (time.Duration, error) {
	patch, err := json.Marshal(map[string]any{"spec": w.edit(i)})
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := e.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return 0, err
	}
	generation := obj.GetGeneration()
	err = await.Nil(ctx, time.Minute, 20*time.Millisecond, func(ctx context.Context) error {
		if err := e.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		n, _, err := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
		if err == nil && n < generation {
			err = fmt.Errorf("generation %d is observed, %d awaited", n, generation)
		}
		return err
	})
	return time.Since(start), err
}
