package v1alpha1

// Preset is a named set of tuning values; explicit fields override it.
//
// +kubebuilder:validation:Enum=disabled;conservative;balanced;performance;aggressive
type Preset string

// Presets.
const (
	// PresetDisabled leaves the setting to the image.
	PresetDisabled Preset = "disabled"
	// PresetConservative uses the least memory and the fewest connections.
	PresetConservative Preset = "conservative"
	// PresetBalanced is the default.
	PresetBalanced Preset = "balanced"
	// PresetPerformance is for large pods.
	PresetPerformance Preset = "performance"
	// PresetAggressive is for very large pods.
	PresetAggressive Preset = "aggressive"
)

// GunicornSpec tunes the processes of the web server.
//
// +kubebuilder:validation:XValidation:rule="!has(self.threads) || self.threads <= 1 || !has(self.workerClass) || self.workerClass == 'gthread'",message="gunicorn.threads greater than 1 requires workerClass=gthread"
type GunicornSpec struct {
	// preset is a named set of values that the fields below override. Defaults to balanced. As workers times threads:
	// conservative is 1 times 4, balanced 2 times 8, performance 4 times 8, aggressive 8 times 16; disabled leaves
	// everything to the image.
	// +optional
	Preset *Preset `json:"preset,omitempty"`
	// workers is the number of worker processes in each pod.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Workers *int32 `json:"workers,omitempty"`
	// threads is the number of threads of each worker process. More than one requires the worker class gthread.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Threads *int32 `json:"threads,omitempty"`
	// workerClass defines how a worker process serves several requests. Defaults to gthread.
	// +kubebuilder:validation:Enum=sync;gthread;gevent;eventlet
	// +optional
	WorkerClass *string `json:"workerClass,omitempty"`
	// timeout is the number of seconds without activity after which a worker process is replaced. Defaults to 60.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Timeout *int32 `json:"timeout,omitempty"`
	// keepAlive is the number of seconds for which an idle connection is kept open. Defaults to 2.
	// +kubebuilder:validation:Minimum=0
	// +optional
	KeepAlive *int32 `json:"keepAlive,omitempty"`
	// maxRequests is the number of requests after which a worker process is replaced. Defaults to 0, never.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxRequests *int32 `json:"maxRequests,omitempty"`
	// maxRequestsJitter is the maximum of a random number that is added to maxRequests, so that not all worker
	// processes are replaced at once. Defaults to 0.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxRequestsJitter *int32 `json:"maxRequestsJitter,omitempty"`
	// limitRequestLine is the maximum length of the request line in bytes. Defaults to 0, no limit.
	// +kubebuilder:validation:Minimum=0
	// +optional
	LimitRequestLine *int32 `json:"limitRequestLine,omitempty"`
	// limitRequestFieldSize is the maximum length of a header field in bytes. Defaults to 0, no limit.
	// +kubebuilder:validation:Minimum=0
	// +optional
	LimitRequestFieldSize *int32 `json:"limitRequestFieldSize,omitempty"`
	// logLevel is the log level of gunicorn. Defaults to info.
	// +kubebuilder:validation:Enum=debug;info;warning;error;critical
	// +optional
	LogLevel *string `json:"logLevel,omitempty"`
}

// CeleryWorkerProcessSpec tunes the processes of the Celery worker.
//
// +kubebuilder:validation:XValidation:rule="!has(self.maxTasksPerChild) || self.maxTasksPerChild == 0 || !has(self.pool) || self.pool == 'prefork'",message="celery.maxTasksPerChild only applies to pool=prefork"
// +kubebuilder:validation:XValidation:rule="!has(self.maxMemoryPerChild) || self.maxMemoryPerChild == 0 || !has(self.pool) || self.pool == 'prefork'",message="celery.maxMemoryPerChild only applies to pool=prefork"
type CeleryWorkerProcessSpec struct {
	// preset is a named set of values that the fields below override. Defaults to balanced. The concurrency is 2 for
	// conservative, 4 for balanced, 8 for performance and 16 for aggressive; disabled ignores the fields below.
	// +optional
	Preset *Preset `json:"preset,omitempty"`
	// concurrency is the number of tasks that each pod runs at the same time.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Concurrency *int32 `json:"concurrency,omitempty"`
	// pool defines how the tasks run concurrently. Defaults to prefork, one process for each task. With gevent, eventlet
	// and solo a task can delay the heartbeat of the worker, so they have no default liveness probe. A worker whose
	// podTemplate.container.args select such a pool or contain --without-heartbeat has none either.
	// +kubebuilder:validation:Enum=prefork;threads;gevent;eventlet;solo
	// +optional
	Pool *string `json:"pool,omitempty"`
	// optimization defines how tasks are distributed to the processes. Defaults to fair.
	// +kubebuilder:validation:Enum=default;fair
	// +optional
	Optimization *string `json:"optimization,omitempty"`
	// maxTasksPerChild is the number of tasks after which a process is replaced. Defaults to 0, never. It only applies
	// to the pool prefork.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxTasksPerChild *int32 `json:"maxTasksPerChild,omitempty"`
	// maxMemoryPerChild is the resident memory in KiB, not in bytes, after which a process is replaced once its task
	// is done. Defaults to 0, never. It only applies to the pool prefork. 400000 are about 400 MB.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxMemoryPerChild *int32 `json:"maxMemoryPerChild,omitempty"`
	// prefetchMultiplier is the number of tasks that are prefetched for each process. Defaults to 1; 0 leaves it to
	// Celery.
	// +kubebuilder:validation:Minimum=0
	// +optional
	PrefetchMultiplier *int32 `json:"prefetchMultiplier,omitempty"`
	// softTimeLimit is the number of seconds after which a task gets an exception that it can handle. Defaults to 0,
	// never. Limits that Superset sets on its own tasks take precedence, for example SQLLAB_ASYNC_TIME_LIMIT_SEC on
	// queries of SQL Lab.
	// +kubebuilder:validation:Minimum=0
	// +optional
	SoftTimeLimit *int32 `json:"softTimeLimit,omitempty"`
	// timeLimit is the number of seconds after which a task is terminated. Defaults to 0, never. Limits that Superset
	// sets on its own tasks take precedence.
	// +kubebuilder:validation:Minimum=0
	// +optional
	TimeLimit *int32 `json:"timeLimit,omitempty"`
}

// SQLAlchemyEngineOptionsSpec tunes the pool of connections to the metadata database.
type SQLAlchemyEngineOptionsSpec struct {
	// preset is a named set of values that the fields below override. Defaults to balanced. Conservative opens a
	// connection for each use and keeps none, balanced keeps one, performance as many as the component has processes,
	// aggressive as many as it has threads; disabled leaves everything to Superset. The scheduler and the tasks never
	// keep a connection.
	// +optional
	Preset *Preset `json:"preset,omitempty"`
	// poolSize is the number of connections that each process keeps open.
	// +kubebuilder:validation:Minimum=0
	// +optional
	PoolSize *int32 `json:"poolSize,omitempty"`
	// maxOverflow is the number of connections that each process can open beyond poolSize. Defaults to -1, no limit.
	// +optional
	MaxOverflow *int32 `json:"maxOverflow,omitempty"`
	// poolRecycle is the number of seconds after which a connection is replaced. Defaults to 3600; 0 leaves it to
	// SQLAlchemy.
	// +kubebuilder:validation:Minimum=0
	// +optional
	PoolRecycle *int32 `json:"poolRecycle,omitempty"`
	// poolPrePing tests each connection before its use. Defaults to false.
	// +optional
	PoolPrePing *bool `json:"poolPrePing,omitempty"`
	// poolTimeout is the number of seconds to wait for a free connection. When unset or 0, the default of SQLAlchemy
	// applies.
	// +kubebuilder:validation:Minimum=0
	// +optional
	PoolTimeout *int32 `json:"poolTimeout,omitempty"`
}
