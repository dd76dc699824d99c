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

// ProfilesVariable is the environment variable with the directory for profiles: CPU profiles of the operator and the API
// server from the start of a measurement, and a heap profile of the operator from its end, after a garbage collection.
// Without it, no profiles are taken, since they slow down the measurement. A later run replaces profiles of the same number.
const ProfilesVariable = "BENCH_PROFILES"

// profileSeconds is the duration of a profile, from the start of a measurement.
const profileSeconds = 8

// profile starts CPU profiles if ProfilesVariable is set, and returns a function that waits for them and takes the heap
// profile.
func (e *Env) profile(ctx context.Context) (end func()) {
	dir := os.Getenv(ProfilesVariable)
	if dir == "" {
		return func() {}
	}
	e.profiles++
	capture := func(name, url string, client func() (*http.Client, error)) {
		c, err := client()
		if err == nil {
			file := filepath.Join(dir, fmt.Sprintf("%s-%d-%s.pprof", e.benchmark.Subject, e.profiles, name))
			err = download(ctx, c, url, file)
		}
		if err != nil {
			Note("Failed to take the profile %s: %v", name, err)
		}
	}
	plain := func() (*http.Client, error) { return http.DefaultClient, nil }
	cpu := fmt.Sprintf("/debug/pprof/profile?seconds=%d", profileSeconds)
	var wg sync.WaitGroup
	wg.Go(func() { capture(e.Operator.Name, e.Operator.pprof+cpu, plain) })
	wg.Go(func() {
		config, err := clientcmd.BuildConfigFromFlags("", e.cluster.Kubeconfig)
		if err != nil {
			Note("Failed to take a profile of the API server: %v", err)
			return
		}
		capture("kube-apiserver", config.Host+cpu, func() (*http.Client, error) { return rest.HTTPClientFor(config) })
	})
	return func() {
		wg.Wait()
		capture(e.Operator.Name+"-heap", e.Operator.pprof+"/debug/pprof/heap?gc=1", plain)
	}
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
