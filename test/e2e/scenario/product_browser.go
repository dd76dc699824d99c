package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/flotilla-dev/flotilla/test/e2e/browser"
)

// loginTimeout is how long a browser may take to log in on a busy machine.
const loginTimeout = 4 * time.Minute

// logIn fills in Superset's form, waits for the page that follows, and writes a picture of it.
func logIn(ctx context.Context, address, login, picture string) error {
	user, password, _ := strings.Cut(login, ":")
	tab, closeTab, err := browser.Open(ctx)
	if err != nil {
		return err
	}
	defer closeTab()
	acting, cancel := context.WithTimeout(tab, loginTimeout)
	defer cancel()
	if err := chromedp.Do(acting,
		chromedp.EmulateViewport(1280, 800),
		chromedp.Navigate(address+"/login/"),
		chromedp.WaitVisible(`input[name="password"], #password`),
		chromedp.SendKeys(`input[name="username"], #username`, user),
		chromedp.SendKeys(`input[name="password"], #password`, password),
		chromedp.Click(`button[type="submit"], input[type="submit"]`),
	); err != nil {
		return errors.Join(fmt.Errorf("fill in the form: %w", err), shoot(tab, picture))
	}
	// The menu is there for users only, and is drawn by the page's own script.
	if err := chromedp.Do(acting, chromedp.WaitVisible(`a[href*="/dashboard/list"]`)); err != nil {
		return errors.Join(fmt.Errorf("wait for the menu: %w", err), shoot(tab, picture))
	}
	return shoot(tab, picture)
}

// shoot writes a picture of the tab.
func shoot(tab context.Context, file string) error {
	ctx, cancel := context.WithTimeout(tab, time.Minute)
	defer cancel()
	image, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return fmt.Errorf("take a picture: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return err
	}
	return os.WriteFile(file, image, 0o600)
}
