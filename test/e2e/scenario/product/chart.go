package product

import (
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
)

//go:embed example.py
var example string

const (
	// chartTimeout limits the work with the chart on a busy machine, and chartAttempt each attempt.
	chartTimeout = 5 * time.Minute
	chartAttempt = 45 * time.Second

	// Elements of the pages of Explore and of the list of charts.
	metricField   = `[data-test="metric"] [data-test="dnd-labels-container"] > div`
	savedMetrics  = `[data-test="metrics-edit-popover"] input[type="search"]`
	useMetric     = `[data-test="AdhocMetricEdit#save"]`
	createChart   = `[data-test="run-query-button"]`
	bigNumber     = `.superset-legacy-chart-big-number .header-line`
	openSaveForm  = `[data-test="query-save-button"]`
	chartName     = `[data-test="new-chart-name"]`
	saveChart     = `[data-test="btn-modal-save"]`
	linkToChart   = `a[href*="slice_id="]`
	numberOfSales = "Number of sales"
)

// chart loads an example, makes a chart of it in a browser, and checks that the saved chart shows the number of its rows.
func (w *scenario) chart(ctx context.Context, s *run.Step) error {
	address, err := w.NodePort(ctx, namespace, name+"-web-server")
	if err != nil {
		return err
	}
	startedAt := s.Now()
	out, err := w.Kubectl(ctx, example, "exec", "--stdin", "-n", namespace, "deployment/"+name+"-web-server", "--", "python3", "-")
	if err != nil {
		return fmt.Errorf("load an example: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	explore := fmt.Sprintf("http://%s/explore/?viz_type=big_number_total&datasource_type=table&datasource_id=%s", address, lines[len(lines)-1])
	want, err := w.InPostgres(ctx, namespace, "superset", "SELECT count(*) FROM international_sales")
	if err != nil {
		return err
	}
	loaded := s.Now()
	file := filepath.Join(w.ScreenshotDir, namespace+"-chart.png")
	if err := browse(ctx, "http://"+address, credentials, file, func(tab context.Context) error {
		got, err := chartInBrowser(tab, "http://"+address, explore)
		if err == nil && got != want {
			err = fmt.Errorf("the chart shows %q, want %q", got, want)
		}
		return err
	}); err != nil {
		return fmt.Errorf("make a chart with a browser: %w", err)
	}
	s.Note("An example was loaded in %.0f s. A browser made a chart of its %s rows in %.0f s; the screenshot is %s.",
		loaded.Sub(startedAt).Seconds(), want, s.Now().Sub(loaded).Seconds(), filepath.Base(file))
	return nil
}

// chartInBrowser makes and opens the chart, and returns the number that it shows. The pages render elements again while they
// load, which can discard early input, so it retries.
func chartInBrowser(tab context.Context, address, explore string) (number string, err error) {
	if err := await.Nil(tab, chartTimeout, time.Second, func(ctx context.Context) error { return makeChart(ctx, explore) }); err != nil {
		return "", err
	}
	err = await.Nil(tab, chartTimeout, time.Second, func(ctx context.Context) (err error) {
		number, err = openChart(ctx, address)
		return err
	})
	return number, err
}

// makeChart chooses the metric COUNT(*) in Explore, creates the chart, and saves it.
func makeChart(ctx context.Context, explore string) error {
	ctx, cancel := context.WithTimeout(ctx, chartAttempt)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(explore), chromedp.WaitVisible(metricField), chromedp.Click(metricField),
		chromedp.WaitVisible(savedMetrics), chromedp.SendKeys(savedMetrics, "COUNT\r"),
		chromedp.WaitEnabled(useMetric), chromedp.Click(useMetric)); err != nil {
		return fmt.Errorf("choose the metric: %w", err)
	}
	if err := chromedp.Do(ctx, chromedp.WaitEnabled(createChart), chromedp.Click(createChart), chromedp.WaitVisible(bigNumber)); err != nil {
		return fmt.Errorf("create the chart: %w", err)
	}
	if err := chromedp.Do(ctx, chromedp.WaitEnabled(openSaveForm), chromedp.Click(openSaveForm), chromedp.WaitVisible(chartName),
		chromedp.SendKeys(chartName, numberOfSales), chromedp.WaitEnabled(saveChart), chromedp.Click(saveChart)); err != nil {
		return fmt.Errorf("save the chart: %w", err)
	}
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](`location.search.includes("slice_id=")`)); err != nil {
		return fmt.Errorf("wait for the saved chart: %w", err)
	}
	return nil
}

// openChart opens the first chart of the list, and returns the number that it shows.
func openChart(ctx context.Context, address string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, chartAttempt)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(address+"/chart/list/"), chromedp.WaitVisible(linkToChart), chromedp.Click(linkToChart),
		chromedp.WaitVisible(bigNumber)); err != nil {
		return "", fmt.Errorf("open the chart: %w", err)
	}
	return chromedp.Run(ctx, chromedp.Text(bigNumber))
}
