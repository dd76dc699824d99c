package resolve

import "github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"

// Valkey holds the settings of the cache server in superset_config.py. Its address
// and login reach the containers as environment variables ([Inputs]).
type Valkey struct {
	// TLS is nil for connections without it.
	TLS *TLS
	// IPv6 reports whether the host is an IPv6 address, which needs brackets in a URL.
	IPv6 bool
	// Caches are Superset's enabled caches, in the order of the reference table.
	Caches []Cache
	// Broker and ResultBackend are the databases of Celery; nil when disabled.
	Broker, ResultBackend *int32
	// Results is the store of the results of asynchronous queries; nil when disabled.
	Results *Results
}

// TLS configures connections to Valkey. Files are paths inside the containers; empty ones are omitted.
type TLS struct {
	// CertRequired is required, optional or none.
	CertRequired                  string
	KeyFile, CertFile, CACertFile string
}

// Cache is one of Superset's caches.
type Cache struct {
	// Setting is the name in superset_config.py.
	Setting  string
	Database int32
	// Prefix follows the name of the Superset in every key.
	Prefix string
	// Timeout is in seconds. Refresh restarts it with each read.
	Timeout int32
	Refresh bool
	// Fingerprint replaces the timeout in fingerprints, so that another default does not run a task.
	Fingerprint int32
	// Coordination caches are used by Superset's own client, not by Flask's cache.
	Coordination bool
}

// Results is the backend for the results of asynchronous queries.
type Results struct {
	Database int32
	Prefix   string
}

const day = 24 * 60 * 60 // seconds

// cacheDefaults are Superset's caches with their defaults.
var cacheDefaults = []struct {
	Cache
	section func(*v1alpha1.ValkeySpec) *v1alpha1.ValkeyCacheSpec
}{
	{
		Cache{Setting: "CACHE_CONFIG", Database: 1, Prefix: "superset_", Timeout: 300},
		func(v *v1alpha1.ValkeySpec) *v1alpha1.ValkeyCacheSpec { return v.Cache },
	},
	{
		Cache{Setting: "DATA_CACHE_CONFIG", Database: 2, Prefix: "superset_data_", Timeout: 86400},
		func(v *v1alpha1.ValkeySpec) *v1alpha1.ValkeyCacheSpec { return v.DataCache },
	},
	{
		Cache{Setting: "FILTER_STATE_CACHE_CONFIG", Database: 3, Prefix: "superset_filter_", Timeout: 90 * day, Refresh: true, Fingerprint: 3600},
		func(v *v1alpha1.ValkeySpec) *v1alpha1.ValkeyCacheSpec { return v.FilterStateCache },
	},
	{
		Cache{Setting: "EXPLORE_FORM_DATA_CACHE_CONFIG", Database: 4, Prefix: "superset_explore_", Timeout: 7 * day, Refresh: true, Fingerprint: 3600},
		func(v *v1alpha1.ValkeySpec) *v1alpha1.ValkeyCacheSpec { return v.ExploreFormDataCache },
	},
	{
		Cache{Setting: "THUMBNAIL_CACHE_CONFIG", Database: 5, Prefix: "superset_thumbnail_", Timeout: 7 * day, Fingerprint: 3600},
		func(v *v1alpha1.ValkeySpec) *v1alpha1.ValkeyCacheSpec { return v.ThumbnailCache },
	},
	{
		Cache{Setting: "DISTRIBUTED_COORDINATION_CONFIG", Database: 7, Prefix: "coordination_", Timeout: 300, Coordination: true},
		func(v *v1alpha1.ValkeySpec) *v1alpha1.ValkeyCacheSpec { return v.DistributedCoordination },
	},
}

// ValkeyOf returns the settings with defaults; nil if the spec has none.
func ValkeyOf(spec *v1alpha1.ValkeySpec) *Valkey {
	if spec == nil {
		return nil
	}
	v := &Valkey{TLS: valkeyTLS(spec.SSL), IPv6: isIPv6(spec.Host)}
	for _, d := range cacheDefaults {
		section := orZero(d.section(spec))
		if enabled(section.Disabled) {
			continue
		}
		cache := d.Cache
		cache.Database, cache.Prefix = or(section.Database, cache.Database), or(section.KeyPrefix, cache.Prefix)
		if section.DefaultTimeout != nil || cache.Fingerprint == 0 {
			cache.Timeout = or(section.DefaultTimeout, cache.Timeout)
			cache.Fingerprint = cache.Timeout
		}
		v.Caches = append(v.Caches, cache)
	}
	v.Broker, v.ResultBackend = celeryDatabase(spec.CeleryBroker), celeryDatabase(spec.CeleryResultBackend)
	if results := orZero(spec.ResultsBackend); !enabled(results.Disabled) {
		v.Results = &Results{Database: or(results.Database, 6), Prefix: or(results.KeyPrefix, "superset_results_")}
	}
	return v
}

func valkeyTLS(spec *v1alpha1.ValkeySSLSpec) *TLS {
	if spec == nil {
		return nil
	}
	tls := &TLS{
		CertRequired: orZero(spec.CertRequired),
		KeyFile:      orZero(spec.KeyFile), CertFile: orZero(spec.CertFile), CACertFile: orZero(spec.CACertFile),
	}
	if tls.CertRequired == "" {
		tls.CertRequired = "required"
	}
	return tls
}

// celeryDatabase returns the database, 0 by default, of the broker or the result backend; nil if disabled.
func celeryDatabase(spec *v1alpha1.ValkeyCelerySpec) *int32 {
	section := orZero(spec)
	if enabled(section.Disabled) {
		return nil
	}
	database := or(section.Database, 0)
	return &database
}
