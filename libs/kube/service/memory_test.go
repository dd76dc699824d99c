package service

import (
	"errors"
	"math"
	"os"
	"runtime/debug"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/go-logr/logr/testr"
)

func TestLimitMemory(t *testing.T) {
	const current = 8 << 30
	for _, tc := range []struct {
		name     string
		env      string // GOMEMLIMIT, which the runtime has read before
		provider memlimit.Provider
		want     int64
	}{
		{"limited container", "", memlimit.Limit(1000 << 20), 900 << 20},
		{"container without a limit", "", func() (uint64, error) { return 0, memlimit.ErrNoLimit }, math.MaxInt64},
		{"without cgroups", "", func() (uint64, error) { return 0, errors.New("no cgroup") }, current},
		{"limit of the user", "8GiB", memlimit.Limit(1000 << 20), current},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := debug.SetMemoryLimit(current)
			t.Cleanup(func() { debug.SetMemoryLimit(before) })
			t.Setenv("GOMEMLIMIT", tc.env) // restores the variable of the test run
			if tc.env == "" {
				if err := os.Unsetenv("GOMEMLIMIT"); err != nil {
					t.Fatal(err)
				}
			}
			limitMemory(tc.provider, testr.New(t))
			if got := debug.SetMemoryLimit(-1); got != tc.want {
				t.Errorf("memory limit is %d, want %d", got, tc.want)
			}
		})
	}
}
