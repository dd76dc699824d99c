package resolve

import (
	"math"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
)

// Gunicorn is the web server's process model with presets applied; nil leaves it to the image.
type Gunicorn struct {
	Workers, Threads                        int32
	WorkerClass                             string
	Timeout, KeepAlive                      int32
	MaxRequests, MaxRequestsJitter          int32
	LimitRequestLine, LimitRequestFieldSize int32
	LogLevel                                string
}

// Celery is the worker's process model with presets applied; nil means the fallback command.
type Celery struct {
	Concurrency                                      int32
	Pool, Optimization                               string
	MaxTasksPerChild, MaxMemoryPerChild              int32
	PrefetchMultiplier, SoftTimeLimit, TaskTimeLimit int32
}

// Pool is the connection pool to the metastore. Times are in seconds.
type Pool struct {
	// Null opens a connection for each use and keeps none; the other fields are then unused.
	Null        bool
	Size        int32
	MaxOverflow int32
	Recycle     int32 // 0 omits it
	PrePing     bool
	Timeout     int32 // 0 omits it
}

type sizing struct{ workers, threads, concurrency int32 }

var sizings = map[v1alpha1.Preset]sizing{
	v1alpha1.PresetConservative: {1, 4, 2},
	v1alpha1.PresetBalanced:     {2, 8, 4},
	v1alpha1.PresetPerformance:  {4, 8, 8},
	v1alpha1.PresetAggressive:   {8, 16, 16},
}

func gunicorn(spec *v1alpha1.GunicornSpec) *Gunicorn {
	s := orZero(spec)
	preset := or(s.Preset, v1alpha1.PresetBalanced)
	if preset == v1alpha1.PresetDisabled {
		return nil
	}
	size := sizings[preset]
	g := &Gunicorn{
		Workers: or(s.Workers, size.workers), Threads: or(s.Threads, size.threads),
		WorkerClass: or(s.WorkerClass, "gthread"),
		Timeout:     or(s.Timeout, 60), KeepAlive: or(s.KeepAlive, 2),
		MaxRequests: or(s.MaxRequests, 0), MaxRequestsJitter: or(s.MaxRequestsJitter, 0),
		LimitRequestLine: or(s.LimitRequestLine, 0), LimitRequestFieldSize: or(s.LimitRequestFieldSize, 0),
		LogLevel: or(s.LogLevel, "info"),
	}
	if g.WorkerClass != "gthread" && s.Threads == nil {
		// Only gthread workers have threads: a preset's count would be wrong for the others.
		g.Threads = 1
	}
	return g
}

func celery(spec *v1alpha1.CeleryWorkerProcessSpec) *Celery {
	s := orZero(spec)
	preset := or(s.Preset, v1alpha1.PresetBalanced)
	if preset == v1alpha1.PresetDisabled {
		return nil
	}
	return &Celery{
		Concurrency: or(s.Concurrency, sizings[preset].concurrency),
		Pool:        or(s.Pool, "prefork"), Optimization: or(s.Optimization, "fair"),
		MaxTasksPerChild: or(s.MaxTasksPerChild, 0), MaxMemoryPerChild: or(s.MaxMemoryPerChild, 0),
		PrefetchMultiplier: or(s.PrefetchMultiplier, 1),
		SoftTimeLimit:      or(s.SoftTimeLimit, 0), TaskTimeLimit: or(s.TimeLimit, 0),
	}
}

// componentPool derives the size of the pool from the concurrency of the component.
func componentPool(c *Component, spec *v1alpha1.SQLAlchemyEngineOptionsSpec) *Pool {
	balanced, performance, aggressive := int32(1), int32(1), int32(1)
	switch c.Descriptor.Name {
	case component.CeleryBeatName:
		return taskPool(spec)
	case component.WebServerName:
		g := orZero(c.Gunicorn)
		performance, aggressive = g.Workers, product(g.Workers, g.Threads)
	case component.CeleryWorkerName:
		concurrency := orZero(c.Celery).Concurrency
		performance, aggressive = concurrency, concurrency
	case component.MCPServerName:
		balanced, performance, aggressive = 5, 10, 20
	}
	return pool(spec, c.Python.Database.Mode, map[v1alpha1.Preset]int32{
		v1alpha1.PresetBalanced:    balanced,
		v1alpha1.PresetPerformance: performance,
		v1alpha1.PresetAggressive:  aggressive,
	})
}

// taskPool returns the pool of tasks and of the scheduler: one connection at a time, none kept.
func taskPool(spec *v1alpha1.SQLAlchemyEngineOptionsSpec) *Pool {
	if or(orZero(spec).Preset, v1alpha1.PresetBalanced) == v1alpha1.PresetDisabled {
		return nil
	}
	return &Pool{Null: true}
}

func pool(spec *v1alpha1.SQLAlchemyEngineOptionsSpec, mode DatabaseMode, sizes map[v1alpha1.Preset]int32) *Pool {
	s := orZero(spec)
	preset := or(s.Preset, v1alpha1.PresetBalanced)
	switch {
	case preset == v1alpha1.PresetDisabled:
		return nil
	case spec == nil && mode == DatabaseNone:
		// SQLite, which is Superset's own default, does not support such a pool: no process would start with one.
		return nil
	case preset == v1alpha1.PresetConservative && s.PoolSize == nil:
		return &Pool{Null: true}
	}
	return &Pool{
		Size: or(s.PoolSize, sizes[preset]), MaxOverflow: or(s.MaxOverflow, -1),
		Recycle: or(s.PoolRecycle, 3600), PrePing: or(s.PoolPrePing, false), Timeout: or(s.PoolTimeout, 0),
	}
}

// product returns a*b, limited to the maximum size of a pool.
func product(a, b int32) int32 { return int32(min(int64(a)*int64(b), math.MaxInt32)) } //nolint:gosec // neither factor is negative

func or[T any](p *T, fallback T) T {
	if p == nil {
		return fallback
	}
	return *p
}
