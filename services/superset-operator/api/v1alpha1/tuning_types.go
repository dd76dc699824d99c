package v1alpha1

// Preset is a named set of tuning values; explicit fields override it.
//
// +kubebuilder:validation:Enum=disabled;conservative;balanced;performance;aggressive
type Preset string

// Presets.
const (
	// Leaves the setting to the image.
	PresetDisabled Preset = "disabled"
	// Needs the least memory and the fewest connections.
	PresetConservative Preset = "conservative"
	// The default.
	PresetBalanced Preset = "balanced"
	// For large pods.
	PresetPerformance Preset = "performance"
	// For very large pods.
	PresetAggressive Preset = "aggressive"
)

// GunicornSpec tunes the web server's processes.
//
// +kubebuilder:validation:XValidation:rule="!has(self.threads) || self.threads <= 1 || !has(self.workerClass) || self.workerClass == 'gthread'",message="gunicorn.threads greater than 1 requires workerClass=gthread"
type GunicornSpec struct {
	// Named set of values that the fields below override; balanced when unset. As workers times threads: conservative is
	// 1 times 4, balanced 2 times 8, performance 4 times 8, aggressive 8 times 16; disabled leaves everything to the image.
	// +optional
	Preset *Preset `json:"preset,omitempty"`
	// Number of worker processes in each pod.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Workers *int32 `json:"workers,omitempty"`
	// Threads of each worker process. More than one needs the worker class gthread.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Threads *int32 `json:"threads,omitempty"`
	// How a worker process serves several requests; gthread when unset.
	// +kubebuilder:validation:Enum=sync;gthread;gevent;eventlet
	// +optional
	WorkerClass *string `json:"workerClass,omitempty"`
	// Seconds after which a worker process that shows no activity is replaced; 60 when unset.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Timeout *int32 `json:"timeout,omitempty"`
	// Seconds for which an idle connection is kept open; 2 when unset.
	// +kubebuilder:validation:Minimum=0
	// +optional
	KeepAlive *int32 `json:"keepAlive,omitempty"`
	// Requests after which a worker process is replaced; 0, never, when unset.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxRequests *int32 `json:"maxRequests,omitempty"`
	// Largest random number that is added to maxRequests, so that not all worker processes are replaced at once; 0 when
	// unset.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxRequestsJitter *int32 `json:"maxRequestsJitter,omitempty"`
	// Longest request line in bytes; 0, no limit, when unset.
	// +kubebuilder:validation:Minimum=0
	// +optional
	LimitRequestLine *int32 `json:"limitRequestLine,omitempty"`
	// Longest header field in bytes; 0, no limit, when unset.
	// +kubebuilder:validation:Minimum=0
	// +optional
	LimitRequestFieldSize *int32 `json:"limitRequestFieldSize,omitempty"`
	// What gunicorn logs; info when unset.
	// +kubebuilder:validation:Enum=debug;info;warning;error;critical
	// +optional
	LogLevel *string `json:"logLevel,omitempty"`
}

// CeleryWorkerProcessSpec tunes the Celery worker's processes.
//
// +kubebuilder:validation:XValidation:rule="!has(self.maxTasksPerChild) || self.maxTasksPerChild == 0 || !has(self.pool) || self.pool == 'prefork'",message="celery.maxTasksPerChild only applies to pool=prefork"
// +kubebuilder:validation:XValidation:rule="!has(self.maxMemoryPerChild) || self.maxMemoryPerChild == 0 || !has(self.pool) || self.pool == 'prefork'",message="celery.maxMemoryPerChild only applies to pool=prefork"
type CeleryWorkerProcessSpec struct {
	// Named set of values that the fields below override; balanced when unset. The concurrency is 2 for conservative,
	// 4 for balanced, 8 for performance and 16 for aggressive; disabled ignores the fields below.
	// +optional
	Preset *Preset `json:"preset,omitempty"`
	// Tasks that each pod works on at the same time.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Concurrency *int32 `json:"concurrency,omitempty"`
	// How the concurrency comes about; prefork, one process for each task, when unset.
	// +kubebuilder:validation:Enum=prefork;threads;gevent;eventlet;solo
	// +optional
	Pool *string `json:"pool,omitempty"`
	// How tasks are handed to the processes; fair when unset.
	// +kubebuilder:validation:Enum=default;fair
	// +optional
	Optimization *string `json:"optimization,omitempty"`
	// Tasks after which a process is replaced; 0, never, when unset. Only for the pool prefork.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxTasksPerChild *int32 `json:"maxTasksPerChild,omitempty"`
	// Resident memory in KiB, not in bytes, after which a process is replaced once its task is done; 0, never, when
	// unset. Only for the pool prefork. 400000 are about 400 MB.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxMemoryPerChild *int32 `json:"maxMemoryPerChild,omitempty"`
	// Tasks that are fetched ahead for each process; 1 when unset, and 0 leaves it to Celery.
	// +kubebuilder:validation:Minimum=0
	// +optional
	PrefetchMultiplier *int32 `json:"prefetchMultiplier,omitempty"`
	// Seconds after which a task gets an exception that it may handle; 0, never, when unset.
	// +kubebuilder:validation:Minimum=0
	// +optional
	SoftTimeLimit *int32 `json:"softTimeLimit,omitempty"`
	// Seconds after which a task is ended; 0, never, when unset.
	// +kubebuilder:validation:Minimum=0
	// +optional
	TimeLimit *int32 `json:"timeLimit,omitempty"`
}

// SQLAlchemyEngineOptionsSpec tunes the pool of connections to the metadata database.
type SQLAlchemyEngineOptionsSpec struct {
	// Named set of values that the fields below override; balanced when unset. Conservative opens a connection for each
	// use and keeps none, balanced keeps one, performance as many as the component has processes, aggressive as many as
	// it has threads; disabled leaves everything to Superset. The scheduler and the tasks never keep one.
	// +optional
	Preset *Preset `json:"preset,omitempty"`
	// Connections that each process keeps open.
	// +kubebuilder:validation:Minimum=0
	// +optional
	PoolSize *int32 `json:"poolSize,omitempty"`
	// Connections that each process may open beyond poolSize; -1, no limit, when unset.
	// +optional
	MaxOverflow *int32 `json:"maxOverflow,omitempty"`
	// Seconds after which a connection is replaced; 3600 when unset, and 0 leaves it to SQLAlchemy.
	// +kubebuilder:validation:Minimum=0
	// +optional
	PoolRecycle *int32 `json:"poolRecycle,omitempty"`
	// Tests each connection before its use; false when unset.
	// +optional
	PoolPrePing *bool `json:"poolPrePing,omitempty"`
	// Seconds to wait for a free connection; SQLAlchemy's own default when unset or 0.
	// +kubebuilder:validation:Minimum=0
	// +optional
	PoolTimeout *int32 `json:"poolTimeout,omitempty"`
}
