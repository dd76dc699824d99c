package resolve_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// resolveAll resolves a Superset with all components, after an optional edit.
func resolveAll(edit func(*v1alpha1.SupersetSpec), options resolve.Options) resolve.Plan {
	sup := &v1alpha1.Superset{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "default"}}
	sup.Spec = v1alpha1.SupersetSpec{
		Image:     v1alpha1.ImageSpec{Repository: "r", Tag: "1"},
		WebServer: &v1alpha1.WebServerSpec{}, CeleryWorker: &v1alpha1.CeleryWorkerSpec{}, CeleryBeat: &v1alpha1.CeleryBeatSpec{},
		CeleryFlower: &v1alpha1.CeleryFlowerSpec{}, MCPServer: &v1alpha1.MCPServerSpec{}, WebsocketServer: &v1alpha1.WebsocketServerSpec{},
	}
	edit(&sup.Spec)
	return resolve.For(sup, options)
}

func bySlug(plan resolve.Plan) map[string]resolve.Component {
	out := map[string]resolve.Component{}
	for _, c := range plan.Components {
		out[c.Slug] = c
	}
	return out
}

func TestGunicornPresets(t *testing.T) {
	base := resolve.Gunicorn{WorkerClass: "gthread", Timeout: 60, KeepAlive: 2, LogLevel: "info"}
	with := func(edit func(*resolve.Gunicorn)) *resolve.Gunicorn {
		g := base
		edit(&g)
		return &g
	}
	size := func(workers, threads int32) *resolve.Gunicorn {
		return with(func(g *resolve.Gunicorn) { g.Workers, g.Threads = workers, threads })
	}
	cases := map[string]struct {
		spec *v1alpha1.GunicornSpec
		want *resolve.Gunicorn
	}{
		"the default is balanced": {want: size(2, 8)},
		"conservative":            {spec: &v1alpha1.GunicornSpec{Preset: new(v1alpha1.PresetConservative)}, want: size(1, 4)},
		"balanced":                {spec: &v1alpha1.GunicornSpec{Preset: new(v1alpha1.PresetBalanced)}, want: size(2, 8)},
		"performance":             {spec: &v1alpha1.GunicornSpec{Preset: new(v1alpha1.PresetPerformance)}, want: size(4, 8)},
		"aggressive":              {spec: &v1alpha1.GunicornSpec{Preset: new(v1alpha1.PresetAggressive)}, want: size(8, 16)},
		"disabled":                {spec: &v1alpha1.GunicornSpec{Preset: new(v1alpha1.PresetDisabled), Workers: new(int32(3))}},
		"explicit fields take precedence": {
			spec: &v1alpha1.GunicornSpec{
				Preset: new(v1alpha1.PresetPerformance), Workers: new(int32(3)), Threads: new(int32(5)), Timeout: new(int32(6)),
				KeepAlive: new(int32(0)), MaxRequests: new(int32(7)), MaxRequestsJitter: new(int32(8)), LimitRequestLine: new(int32(9)),
				LimitRequestFieldSize: new(int32(10)), LogLevel: new("debug"),
			},
			want: &resolve.Gunicorn{
				Workers: 3, Threads: 5, WorkerClass: "gthread", Timeout: 6, MaxRequests: 7, MaxRequestsJitter: 8,
				LimitRequestLine: 9, LimitRequestFieldSize: 10, LogLevel: "debug",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := web(func(s *v1alpha1.SupersetSpec) { s.WebServer.Gunicorn = tc.spec })
			if diff := cmp.Diff(tc.want, c.Gunicorn); diff != "" {
				t.Errorf("gunicorn differs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestW13OnlyGthreadWorkersHaveThreads checks that only gthread workers get the threads of a preset.
func TestW13OnlyGthreadWorkersHaveThreads(t *testing.T) {
	for class, want := range map[string]int32{"sync": 1, "gevent": 1, "eventlet": 1, "gthread": 16} {
		c := web(func(s *v1alpha1.SupersetSpec) {
			s.WebServer.Gunicorn = &v1alpha1.GunicornSpec{Preset: new(v1alpha1.PresetAggressive), WorkerClass: &class}
			s.SQLAEngineOptions = &v1alpha1.SQLAlchemyEngineOptionsSpec{Preset: new(v1alpha1.PresetAggressive)}
		})
		if c.Gunicorn.Threads != want || c.Gunicorn.Workers != 8 || c.Python.Pool.Size != 8*want {
			t.Errorf("%s: %d workers with %d threads and a pool of %d", class, c.Gunicorn.Workers, c.Gunicorn.Threads, c.Python.Pool.Size)
		}
	}
}

func TestCeleryPresets(t *testing.T) {
	size := func(n int32) *resolve.Celery {
		return &resolve.Celery{Concurrency: n, Pool: "prefork", Optimization: "fair", PrefetchMultiplier: 1}
	}
	cases := map[string]struct {
		spec *v1alpha1.CeleryWorkerProcessSpec
		want *resolve.Celery
	}{
		"the default is balanced": {want: size(4)},
		"conservative":            {spec: &v1alpha1.CeleryWorkerProcessSpec{Preset: new(v1alpha1.PresetConservative)}, want: size(2)},
		"balanced":                {spec: &v1alpha1.CeleryWorkerProcessSpec{Preset: new(v1alpha1.PresetBalanced)}, want: size(4)},
		"performance":             {spec: &v1alpha1.CeleryWorkerProcessSpec{Preset: new(v1alpha1.PresetPerformance)}, want: size(8)},
		"aggressive":              {spec: &v1alpha1.CeleryWorkerProcessSpec{Preset: new(v1alpha1.PresetAggressive)}, want: size(16)},
		"disabled":                {spec: &v1alpha1.CeleryWorkerProcessSpec{Preset: new(v1alpha1.PresetDisabled)}},
		"explicit fields take precedence": {
			spec: &v1alpha1.CeleryWorkerProcessSpec{
				Concurrency: new(int32(1)), Pool: new("solo"), Optimization: new("default"), MaxTasksPerChild: new(int32(2)),
				MaxMemoryPerChild: new(int32(3)), PrefetchMultiplier: new(int32(0)), SoftTimeLimit: new(int32(4)), TimeLimit: new(int32(5)),
			},
			want: &resolve.Celery{
				Concurrency: 1, Pool: "solo", Optimization: "default", MaxTasksPerChild: 2, MaxMemoryPerChild: 3,
				SoftTimeLimit: 4, TaskTimeLimit: 5,
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			all := bySlug(resolveAll(func(s *v1alpha1.SupersetSpec) { s.CeleryWorker.Celery = tc.spec }, resolve.Options{}))
			if diff := cmp.Diff(tc.want, all["celery-worker"].Celery); diff != "" {
				t.Errorf("celery differs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPoolsFollowPreset checks the pool size of each preset and component; -1 stands for a pool that keeps no
// connections, -2 for no pool.
func TestPoolsFollowPreset(t *testing.T) {
	const null, none = -1, -2
	presets := []v1alpha1.Preset{
		v1alpha1.PresetDisabled, v1alpha1.PresetConservative, v1alpha1.PresetBalanced, v1alpha1.PresetPerformance, v1alpha1.PresetAggressive,
	}
	want := map[string][]int32{
		"web-server":       {none, null, 1, 2, 16},
		"celery-worker":    {none, null, 1, 4, 4},
		"celery-beat":      {none, null, null, null, null},
		"celery-flower":    {none, null, 1, 1, 1},
		"mcp-server":       {none, null, 5, 10, 20},
		"websocket-server": {none, none, none, none, none},
		"migrate":          {none, null, null, null, null},
	}
	read := func(p *resolve.Pool) int32 {
		switch {
		case p == nil:
			return none
		case p.Null:
			return null
		}
		if p.MaxOverflow != -1 || p.Recycle != 3600 || p.PrePing || p.Timeout != 0 {
			t.Errorf("pool %+v", p)
		}
		return p.Size
	}
	for i, preset := range presets {
		plan := resolveAll(func(s *v1alpha1.SupersetSpec) {
			s.SQLAEngineOptions = &v1alpha1.SQLAlchemyEngineOptionsSpec{Preset: &preset}
		}, resolve.Options{})
		for _, c := range plan.Components {
			if got := read(c.Python.Pool); got != want[c.Slug][i] {
				t.Errorf("%s, %s: %d, want %d", preset, c.Slug, got, want[c.Slug][i])
			}
		}
		if got := read(plan.Tasks[0].Python.Pool); got != want["migrate"][i] {
			t.Errorf("%s, migrate: %d", preset, got)
		}
	}
}

// TestW13ExplicitPoolSizeIsKept covers the preset conservative too.
func TestW13ExplicitPoolSizeIsKept(t *testing.T) {
	options := func(edit func(*v1alpha1.SQLAlchemyEngineOptionsSpec)) *v1alpha1.SQLAlchemyEngineOptionsSpec {
		o := &v1alpha1.SQLAlchemyEngineOptionsSpec{Preset: new(v1alpha1.PresetConservative)}
		edit(o)
		return o
	}
	cases := map[string]struct {
		top, own *v1alpha1.SQLAlchemyEngineOptionsSpec
		want     *resolve.Pool
	}{
		"a size": {
			top:  options(func(o *v1alpha1.SQLAlchemyEngineOptionsSpec) { o.PoolSize = new(int32(3)) }),
			want: &resolve.Pool{Size: 3, MaxOverflow: -1, Recycle: 3600},
		},
		"every field": {
			top: options(func(o *v1alpha1.SQLAlchemyEngineOptionsSpec) {
				o.PoolSize, o.MaxOverflow, o.PoolRecycle = new(int32(0)), new(int32(4)), new(int32(0))
				o.PoolPrePing, o.PoolTimeout = new(true), new(int32(5))
			}),
			want: &resolve.Pool{MaxOverflow: 4, PrePing: true, Timeout: 5},
		},
		"a component's options replace the others as a whole": {
			top:  options(func(o *v1alpha1.SQLAlchemyEngineOptionsSpec) { o.PoolSize = new(int32(3)) }),
			own:  &v1alpha1.SQLAlchemyEngineOptionsSpec{PoolTimeout: new(int32(7))},
			want: &resolve.Pool{Size: 1, MaxOverflow: -1, Recycle: 3600, Timeout: 7},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := web(func(s *v1alpha1.SupersetSpec) { s.SQLAEngineOptions, s.WebServer.SQLAEngineOptions = tc.top, tc.own })
			if diff := cmp.Diff(tc.want, c.Python.Pool); diff != "" {
				t.Errorf("pool differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPoolSizeNeverOverflows(t *testing.T) {
	c := web(func(s *v1alpha1.SupersetSpec) {
		s.WebServer.Gunicorn = &v1alpha1.GunicornSpec{Workers: new(int32(math.MaxInt32)), Threads: new(int32(math.MaxInt32))}
		s.SQLAEngineOptions = &v1alpha1.SQLAlchemyEngineOptionsSpec{Preset: new(v1alpha1.PresetAggressive)}
	})
	if c.Python.Pool.Size != math.MaxInt32 {
		t.Errorf("size %d", c.Python.Pool.Size)
	}
}

// TestW11AutoscaledComponentReturnsAtFormerSize covers a drain and a stop.
func TestW11AutoscaledComponentReturnsAtFormerSize(t *testing.T) {
	scaling := func(minReplicas *int32, maxReplicas int32) *v1alpha1.AutoscalingSpec {
		return &v1alpha1.AutoscalingSpec{MinReplicas: minReplicas, MaxReplicas: maxReplicas}
	}
	cases := map[string]struct {
		top, own        *v1alpha1.AutoscalingSpec
		replicas        *int32
		last            int32
		stopped         bool
		want            int32
		wantAutoscaling bool
	}{
		"nothing set":                   {want: 1},
		"a number":                      {replicas: new(int32(4)), last: 9, want: 4},
		"no pods":                       {replicas: new(int32(0)), want: 0},
		"the first time":                {own: scaling(new(int32(2)), 8), want: 2, wantAutoscaling: true},
		"without a minimum":             {own: scaling(nil, 8), replicas: new(int32(5)), want: 1, wantAutoscaling: true},
		"the former count":              {own: scaling(new(int32(2)), 8), last: 6, want: 6, wantAutoscaling: true},
		"fewer than the minimum before": {own: scaling(new(int32(3)), 8), last: 2, want: 3, wantAutoscaling: true},
		"more than the maximum before":  {own: scaling(new(int32(2)), 5), last: 8, want: 5, wantAutoscaling: true},
		"stopped":                       {own: scaling(new(int32(2)), 8), last: 6, stopped: true, want: 0, wantAutoscaling: true},
		"from the top level":            {top: scaling(new(int32(2)), 8), last: 4, want: 4, wantAutoscaling: true},
		"own bounds take precedence":    {top: scaling(new(int32(9)), 9), own: scaling(nil, 3), last: 2, want: 2, wantAutoscaling: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			all := bySlug(resolveAll(func(s *v1alpha1.SupersetSpec) {
				s.Replicas, s.Autoscaling, s.WebServer.Autoscaling = tc.replicas, tc.top, tc.own
			}, resolve.Options{Stopped: tc.stopped, LastReplicas: map[string]int32{"web-server": tc.last}}))
			web, beat := all["web-server"], all["celery-beat"]
			if web.Replicas != tc.want || (web.Autoscaling != nil) != tc.wantAutoscaling {
				t.Errorf("%d replicas, want %d; autoscaling %v", web.Replicas, tc.want, web.Autoscaling)
			}
			if beat.Autoscaling != nil || beat.PodDisruptionBudget != nil || !tc.stopped && beat.Replicas != 1 {
				t.Errorf("beat runs %d with %v", beat.Replicas, beat.Autoscaling)
			}
		})
	}
}

func TestDisruptionBudgets(t *testing.T) {
	empty, top, own := &v1alpha1.PDBSpec{}, &v1alpha1.PDBSpec{MaxUnavailable: new(fromInt(1))}, &v1alpha1.PDBSpec{MinAvailable: new(fromInt(1))}
	all := bySlug(resolveAll(func(s *v1alpha1.SupersetSpec) {
		s.PodDisruptionBudget, s.CeleryFlower.PodDisruptionBudget = empty, own
	}, resolve.Options{}))
	for slug, want := range map[string]*v1alpha1.PDBSpec{
		"web-server": top, "celery-worker": top, "celery-beat": nil, "celery-flower": own, "mcp-server": top, "websocket-server": top,
	} {
		if diff := cmp.Diff(want, all[slug].PodDisruptionBudget); diff != "" {
			t.Errorf("budget of %s differs (-want +got):\n%s", slug, diff)
		}
	}
}
