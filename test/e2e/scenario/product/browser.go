package product

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
	"github.com/flotilla-dev/flotilla/test/e2e/browser"
)

const (
	// loginTimeout limits the login on a busy machine, and attemptTimeout each attempt.
	loginTimeout   = 5 * time.Minute
	attemptTimeout = 75 * time.Second

	userField     = `input[name="username"], #username`
	passwordField = `input[name="password"], #password`
	submitButton  = `button[type="submit"], input[type="submit"]`
	// usersMenu selects a link that the page's script renders for users that are logged in.
	usersMenu = `a[href*="/dashboard/list"]`
)

// browse logs in through Superset's form, waits for the next page, visits other pages, and writes a screenshot of the last
// one. Superset renders the form again while it loads, which can discard early input, so browse retries the login.
func browse(ctx context.Context, address, login, screenshotFile string, visit func(tab context.Context) error) error {
	tab, closeTab, err := browser.Open(ctx)
	if err != nil {
		return err
	}
	defer closeTab()
	if err := chromedp.Do(tab, chromedp.EmulateViewport(1280, 800)); err != nil {
		return err
	}
	go acceptDialogs(tab)
	err = await.Nil(tab, loginTimeout, time.Second, func(ctx context.Context) error { return submit(ctx, address, login) })
	if err == nil {
		err = visit(tab)
	}
	return errors.Join(err, screenshot(tab, screenshotFile))
}

// acceptDialogs accepts the dialogs of the pages until the tab is closed: Explore opens one when Chromium leaves it.
func acceptDialogs(tab context.Context) {
	for _, err := range chromedp.Events(tab, page.JavascriptDialogOpening) {
		if err == nil {
			_, err = chromedp.Call(tab, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
		}
		if err != nil {
			return
		}
	}
}

// submit fills in the form and submits it, unless the user is logged in.
func submit(ctx context.Context, address, login string) error {
	user, password, _ := strings.Cut(login, ":")
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(address+"/login/"), chromedp.WaitVisible(usersMenu+", "+passwordField)); err != nil {
		return fmt.Errorf("open the form: %w", err)
	}
	done, err := chromedp.Run(ctx, chromedp.Evaluate[bool](fmt.Sprintf("document.querySelector(%q) !== null", usersMenu)))
	if err != nil || done {
		return err
	}
	if err := chromedp.Do(ctx, chromedp.SendKeys(userField, user), chromedp.SendKeys(passwordField, password),
		chromedp.Click(submitButton)); err != nil {
		return fmt.Errorf("fill in the form: %w", err)
	}
	if err := chromedp.Do(ctx, chromedp.WaitVisible(usersMenu)); err != nil {
		return fmt.Errorf("wait for the menu: %w", err)
	}
	return nil
}

// screenshot writes a screenshot of the tab.
func screenshot(tab context.Context, file string) error {
	ctx, cancel := context.WithTimeout(tab, time.Minute)
	defer cancel()
	image, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return fmt.Errorf("take a screenshot: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return err
	}
	return os.WriteFile(file, image, 0o600)
}
