// Package browser opens Chromium without a window, for pages that only a browser can judge.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"time"

	"github.com/chromedp/chromedp"
)

// startTimeout is how long Chromium may take to start on a busy machine.
const startTimeout = time.Minute

// Open starts Chromium and returns a tab; close ends it. Chromium runs without its sandbox, which root cannot use.
func Open(ctx context.Context, options ...chromedp.ContextOption) (tab context.Context, closeTab func(), err error) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		return nil, nil, errors.New("chromium is not on PATH: run hack/ensure chromium (the Debian package chromium)")
	}
	flags := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path),
		chromedp.NoSandbox, chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(startTimeout))
	ctx, stop := chromedp.NewExecAllocator(ctx, flags...)
	tab, end := chromedp.NewContext(ctx, options...)
	closeTab = func() { end(); stop() }
	if err := chromedp.Do(tab); err != nil {
		closeTab()
		return nil, nil, fmt.Errorf("start Chromium: %w", err)
	}
	return tab, closeTab, nil
}
