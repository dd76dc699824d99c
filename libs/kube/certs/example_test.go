package certs_test

import (
	"fmt"
	"time"

	"github.com/flotilla-dev/flotilla/libs/kube/certs"
)

// Renew decides without reading or writing the Secret.
func ExampleRenew() {
	hosts := certs.HostsOf("webhook", "system")
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	bundle, reason, err := certs.Renew(nil, hosts, certs.DefaultLifetimes, now)
	fmt.Println(reason, err)
	later, reason, err := certs.Renew(bundle, hosts, certs.DefaultLifetimes, now.AddDate(0, 3, 0))
	fmt.Printf("%q %t %v\n", reason, later == bundle, err)
	_, reason, err = certs.Renew(bundle, hosts, certs.DefaultLifetimes, now.AddDate(0, 5, 0))
	fmt.Println(reason, err)
	// Output:
	// there is no certificate yet <nil>
	// "" true <nil>
	// the serving certificate expires on 2026-06-30T00:00:00Z <nil>
}
