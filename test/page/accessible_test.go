package page

import (
	"context"
	_ "embed"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

//go:embed testdata/audit.js
var audit string

// TestAccessible holds every view, in both themes, on a screen and on a phone, against the
// rules of testdata/audit.js. On a phone nothing may be wider than the screen.
func TestAccessible(t *testing.T) {
	b := newTab(t, three()...)
	b.open("")
	b.shows("#connection-text", "Live")
	b.flip(object("team-a", "fine"), contract.EventDegraded, healthy, degraded)
	for view, ready := range map[string]string{
		"#/": "#fleet-table table", "#/resource/team-a/superset/broken": ".timeline", "#/events": "#feed li",
	} {
		for _, width := range []int64{320, 390, 1280} {
			for _, scheme := range []string{"light", "dark"} {
				b.run(chromedp.EmulateViewport(width, 800),
					prefers(scheme),
					script(`location.hash = "`+view+`"`), chromedp.WaitVisible(chromedp.CSS(ready)))
				if problems := value[[]string](b, audit); len(problems) > 0 {
					t.Errorf("%s, %s, %d wide:\n%s", view, scheme, width, strings.Join(problems, "\n"))
				}
			}
		}
	}
	b.accept("good")
	b.run(chromedp.Reload(), chromedp.WaitVisible(chromedp.CSS("#token-input")))
	if problems := value[[]string](b, audit); len(problems) > 0 {
		t.Errorf("the question for a token:\n%s", strings.Join(problems, "\n"))
	}
}

// TestAuditReportsViolations breaks each rule once and expects a violation.
func TestAuditReportsViolations(t *testing.T) {
	b := newTab(t, three()...)
	b.open("")
	b.shows("#fleet-summary", "3 of 3")
	for change, want := range map[string]string{
		`document.querySelector('#theme').textContent = ''`:                         "no name",
		`document.querySelector('#fleet-summary').style.color = 'rgb(160,160,160)'`: "contrast",
		`document.querySelector('#fleet-summary').style.width = '1px'`:              "squeezed",
		`document.querySelector('caption').remove()`:                                "no caption",
		`document.querySelector('#fleet-table').style.width = '3000px'`:             "px wide",
		`document.querySelector('#filter-text').tabIndex = 5`:                       "order of focus",
		`document.querySelector('label[for=filter-kind]').setAttribute('for', 'x')`: "names what is not there",
		`document.querySelector('footer').remove()`:                                 "no footer",
		`document.documentElement.removeAttribute('lang')`:                          "no language",
	} {
		b.run(script(change))
		if problems := strings.Join(value[[]string](b, audit), "\n"); !strings.Contains(problems, want) {
			t.Errorf("%s is not noticed: %s", change, problems)
		}
	}
}

// TestAccessibilityTree reads from the browser what a screen reader gets.
func TestAccessibilityTree(t *testing.T) {
	b := newTab(t, three()...)
	b.run(chromedp.EmulateViewport(360, 740)) // where rows are cards, the table must stay one
	b.open("")
	b.shows("#fleet-summary", "3 of 3")
	got := map[string][]string{}
	b.run(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		tree, err := cdp.Call(ctx, t, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		for _, n := range tree.Nodes {
			if n.Role != nil && n.Name != nil && !n.Ignored {
				role := strings.Trim(string(n.Role.Value), `"`)
				got[role] = append(got[role], strings.Trim(string(n.Name.Value), `"`))
			}
		}
		return err
	}))
	for role, name := range map[string]string{
		"banner": "", "navigation": "Views", "main": "", "contentinfo": "", "heading": "Flotilla status", "search": "Choose resources",
		"table": "Resources", "columnheader": "Degraded", "rowheader": "Resource broken team-a", "searchbox": "Text",
		"combobox": "Namespace", "link": "broken", "status": "", "button": "1 Degraded",
	} {
		if !slices.Contains(got[role], name) {
			t.Errorf("no %s %q among %q", role, name, got[role])
		}
	}
	if n := len(got["row"]); n != 4 {
		t.Errorf("%d rows", n)
	}
}
