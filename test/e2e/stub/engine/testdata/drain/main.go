// Command drain-check prints how many queries the operator's prober counts: drain-check ADDRESS PORT.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/drain"
)

func main() {
	port, err := strconv.Atoi(os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	prober := drain.NewProber(map[v1alpha1.ScrapeMode]drain.Transport{v1alpha1.ScrapePodIP: drain.NewPodIP(port)}, clock.RealClock{})
	pod := corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: os.Args[1]}}
	sample := prober.Sample(context.Background(), v1alpha1.ScrapePodIP, []corev1.Pod{pod})
	if sample.Err != nil {
		fmt.Fprintln(os.Stderr, sample.Err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, sample.Queries)
}
