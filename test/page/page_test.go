package page

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
)

func TestOverview(t *testing.T) {
	b := newTab(t, three()...)
	b.open("")
	b.shows("#fleet-summary", "3 of 3 resources")
	b.shows("#counts [data-group=Degraded]", "1")
	b.shows("#counts [data-group=Available]", "2")
	b.shows("#fleet-table", "broken", "fine", "held", "Paused")
	b.run(chromedp.Click(chromedp.CSS("#counts [data-group=Degraded]")))
	b.shows("#fleet-summary", "1 of 3")
	b.shows("#fleet-table tbody", "broken", "False", "True")
	b.run(chromedp.Click(chromedp.CSS("#filter-reset")))
	b.shows("#fleet-summary", "3 of 3")
	b.run(chromedp.SetValue(chromedp.CSS("#filter-namespace"), "team-b"), script(`document.querySelector('#filter-namespace').dispatchEvent(new Event('input', {bubbles: true}))`))
	b.shows("#fleet-summary", "1 of 3")
	b.run(chromedp.Click(chromedp.CSS("#filter-reset")), chromedp.SendKeys(chromedp.CSS("#filter-text"), "crashloop"))
	b.shows("#fleet-summary", "1 of 3")
	b.expectNoErrors()
}

func TestResource(t *testing.T) {
	b := newTab(t, three()...)
	b.open("")
	b.shows("#fleet-table", "broken")
	b.run(chromedp.Click(chromedp.CSS("#fleet-table a[href='#/resource/team-a/superset/broken']")))
	b.shows("#resource-title", "superset team-a/broken")
	b.shows("#resource-body", "Running", "6.0.0", // facts
		"InsufficientReplicas", "because of CrashLoop", // conditions
		"webServer: 1 of 2 available",                                // evidence
		"webServer (Deployment)", "1 of 2", "1 × CrashLoop", "web-0", // units
		"migrate", "Complete", "Service db", "no endpoints", // jobs, dependencies
		"superset-operator-0", "1.2.3", // provenance
		"First observation", "Degraded: False → True (CrashLoop)") // history
	b.holds(`document.querySelectorAll('.track').length === 3`)
	b.holds(`document.querySelector('.timeline [role=img]').getAttribute('aria-label').includes('Degraded was False, then True')`)
	b.holds(`[...document.querySelectorAll('.segment')].every(s => s.offsetWidth > 0)`)
	b.holds(`document.activeElement.id === 'resource-title' && document.title.startsWith('broken')`)
	b.run(chromedp.Navigate(b.base + "/#/resource/team-a/superset/none"))
	b.shows("#resource-error", "does not exist")
	b.expectNoErrors()
}

func TestLiveEvents(t *testing.T) {
	b := newTab(t, three()...)
	b.open("")
	b.shows("#connection-text", "Live")
	b.shows("#counts [data-group=Degraded]", "1")
	o := object("team-a", "fine")
	now := degraded
	now.LastTransitionTime = start.AddDate(0, 0, 1)
	b.flip(o, contract.EventDegraded, healthy, now)
	b.shows("#counts [data-group=Degraded]", "2")
	b.event(contract.Lifecycle{Object: object("team-c", "new"), Event: contract.EventSnapshot, Conditions: []contract.Condition{available}})
	b.shows("#fleet-table", "new", "team-c")
	b.event(contract.Lifecycle{Object: object("team-c", "new"), Event: contract.EventDeleted})
	b.shows("#fleet-summary", "3 of 3")
	b.run(chromedp.Click(chromedp.CSS("#nav-events")))
	b.shows("#feed li:first-child", "deleted", "team-c/new")
	b.shows("#feed li:last-child", "degraded", "team-a/fine", "Degraded: False → True")

	b.run(chromedp.Click(chromedp.CSS("#feed-pause")))
	b.flip(o, contract.EventRecovered, now, healthy)
	b.flip(o, contract.EventAvailable, unavailable, available)
	b.run(chromedp.Click(chromedp.CSS("#feed-pause")))
	b.shows("#feed li:first-child", "available")
	b.expectNoErrors()
}

// A resource that is open is read again when something happens to it.
func TestOpenResourceFollowsChanges(t *testing.T) {
	b := newTab(t, some(object("team-a", "fine"), available))
	b.open("#/resource/team-a/superset/fine")
	b.shows("#resource-body", "AllComponentsReady")
	b.shows("#connection-text", "Live")
	b.set(some(object("team-a", "fine"), unavailable))
	b.flip(object("team-a", "fine"), contract.EventUnavailable, available, unavailable)
	b.shows("#resource-body", "InsufficientReplicas")
}

func TestPageReconnectsAfterBusOutage(t *testing.T) {
	b := newTab(t, three()...)
	b.open("")
	b.shows("#connection-text", "Live")
	before := b.flip(object("team-a", "fine"), contract.EventDegraded, healthy, degraded)
	b.holds(fmt.Sprintf(`document.querySelector('#feed [data-sequence="%d"]')`, before))
	b.do(request{NATS: "stop"})
	b.shows("#connection-text", "Bus unavailable")
	b.shows("#fleet-summary", "3 of 3")
	b.do(request{NATS: "start"})
	missed := b.flip(object("team-a", "fine"), contract.EventRecovered, degraded, healthy)
	b.holds(fmt.Sprintf(`document.querySelector('#feed [data-sequence="%d"]')`, missed))
	b.shows("#connection-text", "Live")
	b.expectNoErrors()
}

func TestPageRequestsToken(t *testing.T) {
	b := newTab(t, three()...)
	b.accept("good")
	b.open("")
	b.shows("#token-title", "Sign in")
	b.run(chromedp.SendKeys(chromedp.CSS("#token-input"), "bad"+kb.Enter))
	b.shows("#token-error", "not accepted")
	b.run(chromedp.SendKeys(chromedp.CSS("#token-input"), "good"+kb.Enter))
	b.shows("#fleet-summary", "3 of 3")
	b.holds(`sessionStorage.getItem('flotilla-token') === 'good' && localStorage.length === 0 && document.cookie === '' && !location.href.includes('good')`)
	b.run(chromedp.Reload())
	b.shows("#fleet-summary", "3 of 3")
	b.run(chromedp.Click(chromedp.CSS("#forget")))
	b.shows("#token-title", "Sign in")
	b.holds(`sessionStorage.length === 0 && !document.body.innerText.includes('broken')`)
	b.expectNoErrors()
}

// The proxy of the kubectl plugin puts a secret prefix in front and adds the token.
func TestPageWorksBehindPrefix(t *testing.T) {
	b := newTab(t, three()...)
	b.accept("good")
	target, err := url.Parse(b.base)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Header.Set("Authorization", "Bearer good")
	}}
	front := httptest.NewServer(http.StripPrefix("/secret", proxy))
	t.Cleanup(front.Close)
	t.Cleanup(front.CloseClientConnections)
	b.base = front.URL + "/secret"
	b.open("")
	b.shows("#fleet-summary", "3 of 3")
	b.shows("#connection-text", "Live")
	b.run(chromedp.Click(chromedp.CSS("#fleet-table a[href='#/resource/team-a/superset/broken']")))
	b.shows("#resource-body", "CrashLoop")
	b.expectNoErrors()
}

func TestPageWorksWithKeyboard(t *testing.T) {
	b := newTab(t, three()...)
	b.open("")
	b.shows("#fleet-summary", "3 of 3")
	press := func(keys string) { t.Helper(); b.run(chromedp.KeyEvent(keys)) }
	focused := func() string {
		return value[string](b, `document.activeElement.id || document.activeElement.dataset.group || document.activeElement.getAttribute('href') || document.activeElement.tagName`)
	}
	tabTo := func(want string) {
		t.Helper()
		var seen []string
		for range 40 {
			press(kb.Tab)
			if seen = append(seen, focused()); seen[len(seen)-1] == want {
				b.holds(`getComputedStyle(document.activeElement).outlineStyle !== 'none'`)
				return
			}
		}
		t.Fatalf("%s is not reached; the order is %q", want, seen)
	}
	press(kb.Tab)
	if got := focused(); got != "skip" {
		t.Fatalf("focus begins at %s", got)
	}
	press(kb.Enter)
	b.holds(`document.activeElement.id === 'main'`)
	tabTo("Degraded")
	press(" ")
	b.shows("#fleet-summary", "1 of 3")
	if got := focused(); got != "Degraded" {
		t.Errorf("focus went to %s", got)
	}
	tabTo("filter-text")
	press("broken")
	b.shows("#fleet-summary", "1 of 3")
	tabTo("#/resource/team-a/superset/broken")
	b.flip(object("team-a", "broken"), contract.EventDegraded, healthy, degraded) // draws the table again
	b.holds(`document.querySelectorAll('#feed li').length === 1`)
	press(kb.Enter)
	b.holds(`document.activeElement.id === 'resource-title'`)
	b.run(chromedp.NavigateBack())
	b.holds(`document.activeElement.id === 'fleet-title'`)
}

func TestPageFollowsTheme(t *testing.T) {
	b := newTab(t, three()...)
	const ground = `getComputedStyle(document.body).backgroundColor`
	const white, black = "rgb(255, 255, 255)", "rgb(13, 17, 23)"
	is := func(want string) { t.Helper(); b.holds(ground + " === '" + want + "'") }
	b.run(prefers("light"))
	b.open("")
	is(white)
	b.run(prefers("dark"))
	is(black)
	b.run(chromedp.Click(chromedp.CSS("#theme"))) // light
	is(white)
	b.run(chromedp.Reload())
	is(white)
	b.run(chromedp.Click(chromedp.CSS("#theme"))) // dark
	b.run(prefers("light"))
	is(black)
	b.run(chromedp.Click(chromedp.CSS("#theme"))) // as the system prefers
	is(white)
	b.shows("#theme", "Theme: system")
}

func TestPageEscapesHostileText(t *testing.T) {
	const malicious = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>"'><svg onload=window.hacked=1>`
	d := full()
	invalid := degraded
	invalid.Reason, invalid.Message = malicious, malicious
	d.Resource.Conditions = []contract.Condition{unavailable, invalid}
	d.Resource.Phase, d.Resource.DeployedVersion = malicious, malicious
	d.Provenance.Evidence = []string{malicious}
	d.Observation.Units[0].Failures[0].Message = malicious
	d.Observation.Jobs[0].Message = malicious
	d.History[2].Condition.After = invalid
	b := newTab(t, d)
	b.open("")
	b.shows("#fleet-table", malicious)
	b.run(chromedp.Click(chromedp.CSS("#fleet-table a[href='#/resource/team-a/superset/broken']")))
	b.shows("#resource-body", malicious)
	b.flip(d.Resource.Object, contract.EventDegraded, healthy, invalid)
	b.run(chromedp.Click(chromedp.CSS("#nav-events")))
	b.shows("#feed", malicious)
	b.open(`#/resource/<img src=x onerror="window.hacked=1">/superset/x`)
	b.shows("#resource-error", "is not a valid namespace or object name")
	b.holds(`window.hacked === undefined && document.querySelectorAll('main img, main svg, main script').length === 0`)
	// The browser itself would not take markup from a string.
	b.holds(`(() => { try { document.body.innerHTML = '<b>x</b>'; return false } catch (e) { return e instanceof TypeError } })()`)
}

func TestOverviewShowsManyResources(t *testing.T) {
	var many []statusapi.ResourceDetail
	for i := range 1500 { // more than one page of the API
		many = append(many, some(object("team-a", fmt.Sprintf("n%04d", i)), available, healthy))
	}
	b := newTab(t, many...)
	b.open("")
	b.shows("#fleet-summary", "1500 of 1500 resources")
	b.holds(`document.querySelectorAll('#fleet-table tbody tr').length === 200`)
	b.run(chromedp.Click(chromedp.CSS("#fleet-more")))
	b.holds(`document.querySelectorAll('#fleet-table tbody tr').length === 400`)
}
