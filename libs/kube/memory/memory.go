// Package memory keeps a service within the memory limit of its container.
package memory

import (
	"log/slog"
	"math"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/go-logr/logr"
)

// ratio is the share of the container's memory limit that the Go runtime may use. The rest is for memory that the
// runtime does not count.
const ratio = 0.9

// Limit sets the runtime's memory limit from that of the container, so that the garbage collector runs more often
// near the limit instead of the kernel terminating the process. The variables GOMEMLIMIT and AUTOMEMLIMIT override it.
// Without a limit it changes nothing.
func Limit(provider memlimit.Provider, log logr.Logger) {
	limit, err := memlimit.Set(memlimit.WithProvider(provider), memlimit.WithRatio(ratio),
		memlimit.WithLogger(slog.New(logr.ToSlogHandler(log.V(1)))))
	switch {
	case err != nil:
		log.Info("The memory limit is unknown, so it is not enforced", "error", err.Error())
	case limit < math.MaxInt64:
		log.Info("Limited memory", "bytes", limit)
	}
}
