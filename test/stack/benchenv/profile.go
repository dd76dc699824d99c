package benchenv

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// ProfilesVariable is the environment variable with the directory for CPU profiles of the operator and the API server.
// Without it, no profiles are taken, since they slow down the measurement. A later run replaces profiles of the same number.
const ProfilesVariable = "BENCH_PROFILES"

// profileSeconds is the duration of a profile, from the start of a measurement.
const profileSeconds = 8

// profile starts CPU profiles if ProfilesVariable is set, and returns a function that waits for them.
func (e *Env) profile(ctx context.Context) (wait func()) {
	dir := os.Getenv(ProfilesVariable)
	if dir == "" {
		return func() {}
	}
	e.profiles++
	path := func(process string) string {
		return filepath.Join(dir, fmt.Sprintf("%s-%d-%s.pprof", e.benchmark.Subject, e.profiles, process))
	}
	var wg sync.WaitGroup
	capture := func(process, url string, client func() (*http.Client, error)) {
		wg.Go(func() {
			c, err := client()
			if err == nil {
				err = download(ctx, c, fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", url, profileSeconds), path(process))
			}
			if err != nil {
				Note("Failed to take a profile of %s: %v", process, err)
			}
		})
	}
	capture(e.Operator.Name, e.Operator.pprof, func() (*http.Client, error) { return http.DefaultClient, nil })
	config, err := clientcmd.BuildConfigFromFlags("", e.cluster.Kubeconfig)
	if err != nil {
		Note("Failed to take a profile of the API server: %v", err)
		return wg.Wait
	}
	capture("kube-apiserver", config.Host, func() (*http.Client, error) { return rest.HTTPClientFor(config) })
	return wg.Wait
}

func download(ctx context.Context, c *http.Client, url, path string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*profileSeconds*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := c.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}
