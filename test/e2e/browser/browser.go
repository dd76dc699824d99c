// Package browser runs headless Chromium, for tests of pages that need a browser.
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

// startTimeout limits the start of Chromium on a busy machine.
const startTimeout = time.Minute

// Open starts Chromium and returns a tab; closeTab terminates Chromium. It disables the sandbox, which root cannot use.
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
