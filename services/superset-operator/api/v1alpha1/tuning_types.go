package v1alpha1

// Preset is a named set of tuning values; explicit fields override it.
//
// +kubebuilder:validation:Enum=disabled;conservative;balanced;performance;aggressive
type Preset string

// Presets. Disabled leaves the setting to the image.
const (
	PresetDisabled     Preset = "disabled"
	PresetConservative Preset = "conservative"
	PresetBalanced     Preset = "balanced"
	PresetPerformance  Preset = "performance"
	PresetAggressive   Preset = "aggressive"
)

// GunicornSpec tunes the web server's processes. Times are in seconds.
//
// +kubebuilder:validation:XValidation:rule="!has(self.threads) || self.threads <= 1 || !has(self.workerClass) || self.workerClass == 'gthread'",message="gunicorn.threads greater than 1 requires workerClass=gthread"
type GunicornSpec struct {
	// +optional
	Preset *Preset `json:"preset,omitempty"`
	// +kubebuilder:validation:Minimum=1
	// +optional
	Workers *int32 `json:"workers,omitempty"`
	// +kubebuilder:validation:Minimum=1
	// +optional
	Threads *int32 `json:"threads,omitempty"`
	// +kubebuilder:validation:Enum=sync;gthread;gevent;eventlet
	// +optional
	WorkerClass *string `json:"workerClass,omitempty"`
	// +kubebuilder:validation:Minimum=1
	// +optional
	Timeout *int32 `json:"timeout,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +optional
	KeepAlive *int32 `json:"keepAlive,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxRequests *int32 `json:"maxRequests,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxRequestsJitter *int32 `json:"maxRequestsJitter,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +optional
	LimitRequestLine *int32 `json:"limitRequestLine,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +optional
	LimitRequestFieldSize *int32 `json:"limitRequestFieldSize,omitempty"`
	// +kubebuilder:validation:Enum=debug;info;warning;error;critical
	// +optional
	LogLevel *string `json:"logLevel,omitempty"`
}

// CeleryWorkerProcessSpec tunes the Celery worker's processes. Times are in seconds.
//
// +kubebuilder:validation:XValidation:rule="!has(self.maxTasksPerChild) || self.maxTasksPerChild == 0 || !has(self.pool) || self.pool == 'prefork'",message="celery.maxTasksPerChild only applies to pool=prefork"
// +kubebuilder:validation:XValidation:rule="!has(self.maxMemoryPerChild) || self.maxMemoryPerChild == 0 || !has(self.pool) || self.pool == 'prefork'",message="celery.maxMemoryPerChild only applies to pool=prefork"
type CeleryWorkerProcessSpec struct {
	// +optional
	Preset *Preset `json:"preset,omitempty"`
	// +kubebuilder:validation:Minimum=1
	// +optional
	Concurrency *int32 `json:"concurrency,omitempty"`
	// +kubebuilder:validation:Enum=prefork;threads;gevent;eventlet;solo
	// +optional
	Pool *string `json:"pool,omitempty"`
	// +kubebuilder:validation:Enum=default;fair
	// +optional
	Optimization *string `json:"optimization,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxTasksPerChild *int32 `json:"maxTasksPerChild,omitempty"`
	// MaxMemoryPerChild is in KiB.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxMemoryPerChild *int32 `json:"maxMemoryPerChild,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +optional
	PrefetchMultiplier *int32 `json:"prefetchMultiplier,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +optional
	SoftTimeLimit *int32 `json:"softTimeLimit,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +optional
	TimeLimit *int32 `json:"timeLimit,omitempty"`
}

// SQLAlchemyEngineOptionsSpec tunes the connection pool to the metastore. Times are in seconds.
type SQLAlchemyEngineOptionsSpec struct {
	// +optional
	Preset *Preset `json:"preset,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +optional
	PoolSize *int32 `json:"poolSize,omitempty"`
	// MaxOverflow may be -1, which means no limit.
	// +optional
	MaxOverflow *int32 `json:"maxOverflow,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +optional
	PoolRecycle *int32 `json:"poolRecycle,omitempty"`
	// +optional
	PoolPrePing *bool `json:"poolPrePing,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +optional
	PoolTimeout *int32 `json:"poolTimeout,omitempty"`
}
