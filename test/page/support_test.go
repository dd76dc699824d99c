package page

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// browser is one Chromium for all tests of the package.
var browser struct {
	sync.Mutex
	ctx  context.Context
	stop func()
}

func TestMain(m *testing.M) {
	code := m.Run()
	if browser.stop != nil {
		browser.stop()
	}
	os.RemoveAll(programDir)
	os.Exit(code)
}

// chromium starts the browser if need be.
func chromium(t *testing.T) context.Context {
	t.Helper()
	browser.Lock()
	defer browser.Unlock()
	if browser.ctx != nil {
		return browser.ctx
	}
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("the tests of the status page need Chromium: run hack/ensure chromium (the Debian package chromium)")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path),
		chromedp.NoSandbox, chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(expect.Long))
	ctx, stopProcess := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stopBrowser := chromedp.NewContext(ctx)
	browser.stop = func() { stopBrowser(); stopProcess() }
	if err := chromedp.Do(ctx); err != nil {
		browser.stop()
		t.Fatalf("start Chromium: %v", err)
	}
	browser.ctx = ctx
	return ctx
}

// tab is a page in the browser, and the site behind it.
type tab struct {
	*testing.T
	*site
	ctx context.Context

	mu       sync.Mutex
	errorLog []string // errors of the browser
}

// newTab serves the fleet. Nothing is shared with other tabs but the browser's process.
func newTab(t *testing.T, details ...statusapi.ResourceDetail) *tab {
	t.Helper()
	b := &tab{T: t, site: newSite(t)}
	b.set(details...)
	ctx, closeTab := chromedp.NewContext(chromium(t), chromedp.WithNewBrowserContext(), chromedp.WithListener(b.listen))
	t.Cleanup(closeTab)
	b.ctx = ctx
	// The first step opens the tab, which must outlive it.
	if err := chromedp.Do(ctx, call(runtime.Enable, cdp.Empty{}), call(log.Enable, cdp.Empty{})); err != nil {
		t.Fatal(err)
	}
	return b
}

// listen notes what must not happen: exceptions, and what the browser refused.
func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.errorLog = append(b.errorLog, exception(e.ExceptionDetails))
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork {
			b.errorLog = append(b.errorLog, e.Entry.Text)
		}
	}
}

// expectNoErrors checks that the browser had nothing to complain about.
func (b *tab) expectNoErrors() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.errorLog) > 0 {
		b.Errorf("errors of the browser:\n%s", strings.Join(b.errorLog, "\n"))
	}
}

// step is something to do in the browser.
type step = chromedp.Action[chromedp.Void]

// call sends a command of the protocol.
func call[P, R any](c cdp.Command[P, R], params P) step {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

// script runs an expression in the page and drops its value.
func script(expression string) step {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Evaluate[any]("void ("+expression+")")(ctx, t)
		return err
	})
}

// prefers makes the system of the reader light or dark.
func prefers(scheme string) step {
	return call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
}

func (b *tab) run(steps ...step) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, expect.Long)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.Fatalf("%v; the page shows:\n%s", err, b.text("body"))
	}
}

func (b *tab) open(hash string) {
	b.Helper()
	b.run(chromedp.Navigate(b.base + "/" + hash))
}

// value evaluates an expression in the page.
func value[T any](b *tab, expression string) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, expect.Long)
	defer cancel()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return out
}

// text is what an element shows.
func (b *tab) text(selector string) string {
	b.Helper()
	return value[string](b, fmt.Sprintf("document.querySelector(%q)?.innerText ?? 'nothing'", selector))
}

// shows waits until an element shows texts.
func (b *tab) shows(selector string, want ...string) {
	b.Helper()
	expect.Eventually(b, expect.Long, func() error {
		got := b.text(selector)
		for _, w := range want {
			if !strings.Contains(got, w) {
				return fmt.Errorf("%s shows %q, want %q in it", selector, got, w)
			}
		}
		return nil
	})
}

// holds waits until an expression is true in the page.
func (b *tab) holds(expression string) {
	b.Helper()
	expect.Eventually(b, expect.Long, func() error {
		if !value[bool](b, "Boolean("+expression+")") {
			return errors.New(expression)
		}
		return nil
	})
}

func object(namespace, name string) contract.Object {
	return contract.Object{
		GroupVersionKind: contract.GroupVersionKind{Group: "superset.apache.org", Version: "v1alpha1", Kind: "Superset"},
		Namespace:        namespace, Name: name, UID: "uid-" + name, Generation: 3,
	}
}

// some makes a resource with conditions.
func some(o contract.Object, conditions ...contract.Condition) statusapi.ResourceDetail {
	return statusapi.ResourceDetail{
		Resource: statusapi.Resource{Cluster: clusterName, Kind: contract.Superset, Object: o, Phase: "Running", Conditions: conditions},
		History:  []statusapi.HistoryEvent{},
	}
}

var (
	available   = condition("Available", "True", "AllComponentsReady", 0)
	unavailable = condition("Available", "False", "InsufficientReplicas", 5)
	healthy     = condition("Degraded", "False", "Healthy", 0)
	degraded    = condition("Degraded", "True", "CrashLoop", 6)
	settled     = condition("Progressing", "False", "Settled", 0)
	paused      = condition("Paused", "True", "ByAnnotation", 0)
)

// full is a resource of which everything is known.
func full() statusapi.ResourceDetail {
	o := object("team-a", "broken")
	d := some(o, unavailable, settled, degraded)
	seen := observation(o)
	updated := start.Add(6 * time.Minute)
	d.Resource.DeployedVersion, d.Resource.UpdatedAt, d.Observation = "6.0.0", &updated, &seen
	d.Provenance = &contract.Provenance{
		Observer: seen.Observer, Epoch: seen.Epoch, Seq: seen.Seq, ReceivedAt: start, Evidence: []string{"webServer: 1 of 2 available"},
	}
	change := func(sequence uint64, event contract.LifecycleEvent, before, after contract.Condition) statusapi.HistoryEvent {
		return statusapi.HistoryEvent{
			Sequence: sequence, ID: fmt.Sprint(sequence), Time: after.LastTransitionTime,
			Lifecycle: contract.Lifecycle{Object: o, Event: event, Condition: &contract.ConditionChange{Type: after.Type, Before: &before, After: after}},
		}
	}
	d.History = []statusapi.HistoryEvent{
		{Sequence: 1, ID: "1", Time: start, Lifecycle: contract.Lifecycle{
			Object: o, Event: contract.EventSnapshot, Conditions: []contract.Condition{available, settled, healthy},
		}},
		change(2, contract.EventUnavailable, available, unavailable),
		change(3, contract.EventDegraded, healthy, degraded),
	}
	return d
}

// three are a broken, a healthy and a paused resource.
func three() []statusapi.ResourceDetail {
	return []statusapi.ResourceDetail{
		full(), some(object("team-a", "fine"), available, settled, healthy), some(object("team-b", "held"), available, settled, healthy, paused),
	}
}

func exception(d *runtime.ExceptionDetails) string {
	if d.Exception != nil && d.Exception.Description != "" {
		return d.Exception.Description
	}
	return d.Text
}
