// Command e2e runs the scenarios on a cluster with real pods, prints one line for each, and writes the report.
//
//	e2e --kubeconfig .local/kubeconfig --report report.html
//	e2e --kubeconfig .local/kubeconfig --only engine-rollouts
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/flotilla-dev/flotilla/test/e2e/cluster"
	"github.com/flotilla-dev/flotilla/test/e2e/report"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
	"github.com/flotilla-dev/flotilla/test/e2e/timeline"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := execute(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
}

type options struct {
	kubeconfig, report, root, previous string
	only                               []string
	list                               bool
	seed                               uint64
	tools                              cluster.Tools
}

func parse(args []string) (options, error) {
	var o options
	flags := pflag.NewFlagSet("e2e", pflag.ContinueOnError)
	flags.StringVar(&o.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "kubeconfig of a cluster with the platform and the images")
	flags.StringVar(&o.report, "report", "e2e.html", "HTML file of the report; the JSON report is written next to it")
	flags.StringVar(&o.root, "root", ".", "checkout with the samples and charts")
	flags.StringVar(&o.previous, "previous", "", "directory of the charts from which upgrades start; their images have the tag previous")
	flags.StringSliceVar(&o.only, "only", nil, "names of the scenarios to run; empty means all")
	flags.BoolVar(&o.list, "list", false, "list the scenarios and exit")
	flags.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "seed of the random times")
	flags.StringVar(&o.tools.Kubectl, "kubectl", "kubectl", "path of the kubectl binary")
	flags.StringVar(&o.tools.Helm, "helm", "helm", "path of the helm binary")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if !o.list && o.kubeconfig == "" {
		return o, errors.New("set --kubeconfig or KUBECONFIG")
	}
	return o, nil
}

func execute(ctx context.Context, args []string, out io.Writer) error {
	ctrllog.SetLogger(logr.Discard())
	o, err := parse(args)
	if err != nil {
		return err
	}
	platform := &platform.Platform{
		System: "flotilla-system", Data: "flotilla-data", Root: o.root, Previous: o.previous,
		Intn:          randomIntn(o.seed),
		ScreenshotDir: filepath.Dir(o.report),
	}
	plan, err := scenario.Choose(scenario.All(platform), o.only)
	if err != nil {
		return err
	}
	if o.list {
		for _, group := range plan {
			for _, s := range group {
				fmt.Fprintf(out, "%s (%s): %s\n", s.Name, strings.Join(s.Services, ","), s.Title)
			}
		}
		return nil
	}
	if platform.Cluster, err = cluster.Connect(ctx, o.kubeconfig, o.tools); err != nil {
		return err
	}
	fmt.Fprintf(out, "seed %d\n", o.seed)
	startedAt := time.Now()
	runner := &run.Runner{Out: out, Now: time.Now, Watch: func(ctx context.Context, r *timeline.Recorder, object timeline.Object) {
		r.Watch(ctx, platform.Client, object)
	}}
	page := report.Report{Title: "Flotilla on real pods", StartedAt: startedAt, Results: runner.Run(ctx, plan)}
	page.Seconds = time.Since(startedAt).Seconds()
	if err := write(o.report, page); err != nil {
		return err
	}
	fmt.Fprintf(out, "report: %s\n", o.report)
	if failed := page.Failed(); failed > 0 {
		return fmt.Errorf("%d of %d scenarios failed", failed, len(page.Results))
	}
	return nil
}

// randomIntn returns a seeded random number generator that scenarios can share: it is safe for concurrent use.
func randomIntn(seed uint64) func(int) int {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 0))
	return func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n)
	}
}

// write writes the HTML page to path, and the same report as JSON to path.json.
func write(path string, r report.Report) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := errors.Join(report.Write(file, r), file.Close()); err != nil {
		return err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path+".json", append(text, '\n'), 0o644)
}
