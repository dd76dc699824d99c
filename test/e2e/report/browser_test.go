package report

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/test/e2e/browser"
)

type step = chromedp.Action[chromedp.Void]

func call[P, R any](c cdp.Command[P, R], params P) step {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

// chromium opens a tab, and returns it with a function that returns the errors and log entries of the browser.
func chromium(t *testing.T) (context.Context, func() []string) {
	t.Helper()
	var mu sync.Mutex
	var messages []string
	ctx, closeTab, err := browser.Open(context.Background(), chromedp.WithListener(func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			messages = append(messages, e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			messages = append(messages, e.Entry.Text)
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeTab)
	if err := chromedp.Do(ctx, call(runtime.Enable, cdp.Empty{}), call(log.Enable, cdp.Empty{})); err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	return ctx, func() []string { mu.Lock(); defer mu.Unlock(); return slices.Clone(messages) }
}

func value[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return out
}

func TestReportRendersInBrowser(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			t.Errorf("the page requests %s", r.URL.Path)
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if err := Write(w, sample()); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	tab, messages := chromium(t)
	ctx, cancel := context.WithTimeout(tab, expect.Long)
	defer cancel()
	colors := map[string]bool{}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{390, 1280} {
			err := chromedp.Do(ctx,
				call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
					Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
				}),
				chromedp.EmulateViewport(width, 800),
				chromedp.Navigate(server.URL),
			)
			if err != nil {
				t.Fatal(err)
			}
			if got := value[int64](t, ctx, "document.documentElement.scrollWidth"); got > width {
				t.Errorf("%s: the page is %d wide on a screen of %d", scheme, got, width)
			}
			if !value[bool](t, ctx, "[...document.querySelectorAll('rect')].every(r => r.getBoundingClientRect().width > 0)") {
				t.Errorf("%s, %d: a span of the timeline is not visible", scheme, width)
			}
		}
		colors[value[string](t, ctx, "getComputedStyle(document.body).backgroundColor")] = true
	}
	if len(colors) != 2 {
		t.Errorf("light and dark look the same: %v", colors)
	}
	if got := value[string](t, ctx, "document.querySelector('header').innerText"); !strings.Contains(got, "2 of 3 scenarios failed") {
		t.Errorf("unexpected header %q", got)
	}
	if entries := messages(); len(entries) > 0 {
		t.Errorf("the browser logged %q", entries)
	}
}
