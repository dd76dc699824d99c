package server

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// ExecutionURL is the request header that names where the engine reports, by POST, that it runs the query. It adds the
// parameter run, which is unique among the executions of all engines.
const ExecutionURL = "X-Stub-Execution-Url"

const (
	reportTimeout = 2 * time.Second
	// reportAttempts are made even if the network drops packets for half a minute.
	reportAttempts = 30
)

// reportExecution reports that the query runs, if its header requests it. A report may be repeated: run stays the same.
func (q *queries) reportExecution(r *http.Request) {
	address := r.Header.Get(ExecutionURL)
	if address == "" {
		return
	}
	target, err := url.Parse(address)
	if err != nil {
		q.Logf("report a query: %v", err)
		return
	}
	values := target.Query()
	values.Set("run", fmt.Sprintf("%s-%d", q.Identity.Pod, q.executions.Add(1)))
	target.RawQuery = values.Encode()
	// What runs is reported even after its client disconnected.
	ctx := context.WithoutCancel(r.Context())
	for range reportAttempts {
		if err = post(ctx, target.String()); err == nil {
			return
		}
	}
	q.Logf("report a query: %v", err)
}

func post(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", address, response.Status)
	}
	return nil
}
