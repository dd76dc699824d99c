package pyconfig

import (
	"fmt"
	"strings"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// Python names that the Valkey block defines for itself. Superset imports only
// names in upper case.
const (
	valkeyURL    = "_valkey_url"
	valkeyPrefix = "_valkey_prefix"
	valkeyTLS    = "_valkey_tls"
	valkeyQuery  = "_valkey_query"
	// valkeyTimeouts limit a connection.
	valkeyTimeouts = "_valkey_timeouts"
)

// Timeouts of a server to accept a connection, and to answer, in seconds.
const (
	connectSeconds = 5
	answerSeconds  = 15
)

// writeValkey writes the caches, Celery and the results backend. Host, port and
// login are read from the environment at run time.
func writeValkey(b *strings.Builder, v *resolve.Valkey) {
	if v == nil {
		return
	}
	writeValkeyTLS(b, v.TLS)
	writeValkeyURL(b, v)
	writeValkeyQuery(b, v.TLS != nil)
	for i := range v.Caches {
		writeCache(b, v, &v.Caches[i])
	}
	writeCelery(b, v)
	writeResults(b, v)
}

// writeValkeyTLS always writes the requirement on the server's certificate: Celery's
// result backend rejects a rediss:// URL without it, with files or without.
func writeValkeyTLS(b *strings.Builder, tls *resolve.TLS) {
	if tls == nil {
		return
	}
	b.WriteString(valkeyTLS + " = {\n")
	for _, option := range []struct{ name, value string }{
		{"ssl_cert_reqs", tls.CertRequired},
		{"ssl_keyfile", tls.KeyFile},
		{"ssl_certfile", tls.CertFile},
		{"ssl_ca_certs", tls.CACertFile},
	} {
		if option.value != "" {
			fmt.Fprintf(b, "    %s: %s,\n", Quote(option.name), Quote(option.value))
		}
	}
	// By default the client accepts the certificate of any server of the same CA.
	fmt.Fprintf(b, "    \"ssl_check_hostname\": %s,\n", literal(tls.CertRequired == "required"))
	b.WriteString("}\n")
}

func writeValkeyURL(b *strings.Builder, v *resolve.Valkey) {
	scheme := "redis://"
	if v.TLS != nil {
		scheme = "rediss://"
	}
	quoted := func(name string) string { return fmt.Sprintf(`quote(os.environ.get(%s, ""), safe="")`, Quote(name)) }
	fmt.Fprintf(b, "%s = (\n    %s\n", valkeyURL, Quote(scheme))
	fmt.Fprintf(b, "    + %s\n", quoted(EnvValkeyUser))
	fmt.Fprintf(b, "    + (\":\" + %s if %s in os.environ else \"\")\n", quoted(EnvValkeyPassword), Quote(EnvValkeyPassword))
	fmt.Fprintf(b, "    + (\"@\" if %s in os.environ or %s in os.environ else \"\")\n", Quote(EnvValkeyUser), Quote(EnvValkeyPassword))
	fmt.Fprintf(b, "    + %s\n", uriHost(EnvValkeyHost, v.IPv6))
	fmt.Fprintf(b, "    + \":\" + os.environ[%s]\n)\n", Quote(EnvValkeyPort))
	fmt.Fprintf(b, "%s = os.environ[%s] + \"_\"\n", valkeyPrefix, Quote(EnvInstanceName))
}

// serverURL returns the URL of a database with the timeouts of each connection, as Python.
func serverURL(database int32) string {
	return fmt.Sprintf("%s + \"/%d\" + %s", valkeyURL, database, valkeyQuery)
}

// writeValkeyQuery limits how long a server may take: an address that drops packets would block each request for minutes.
func writeValkeyQuery(b *strings.Builder, tls bool) {
	fmt.Fprintf(b, "%s = {\n    \"socket_connect_timeout\": %d,\n    \"socket_timeout\": %d,\n}\n", valkeyTimeouts, connectSeconds, answerSeconds)
	options := valkeyTimeouts
	if tls {
		options = "{**" + valkeyTimeouts + ", **" + valkeyTLS + "}"
	}
	fmt.Fprintf(b, "%s = \"?\" + urlencode(%s, quote_via=quote)\n", valkeyQuery, options)
}

// writeCache writes the TLS options twice: flask-caching creates its client from the
// URL alone and then ignores CACHE_OPTIONS.
func writeCache(b *strings.Builder, v *resolve.Valkey, c *resolve.Cache) {
	tls := v.TLS
	fmt.Fprintf(b, "%s = {\n", c.Setting)
	b.WriteString("    \"CACHE_TYPE\": \"RedisCache\",\n")
	fmt.Fprintf(b, "    \"CACHE_DEFAULT_TIMEOUT\": %d,\n", c.Timeout)
	fmt.Fprintf(b, "    \"CACHE_KEY_PREFIX\": %s + %s,\n", valkeyPrefix, Quote(c.Prefix))
	fmt.Fprintf(b, "    \"CACHE_REDIS_URL\": %s,\n", serverURL(c.Database))
	if tls != nil {
		fmt.Fprintf(b, "    \"CACHE_OPTIONS\": %s,\n", valkeyTLS)
	}
	if c.Refresh {
		b.WriteString("    \"REFRESH_TIMEOUT_ON_RETRIEVAL\": True,\n")
	}
	if c.Coordination {
		writeCoordination(b, c, tls)
	}
	b.WriteString("}\n")
}

// writeCoordination adds the settings of Superset's own client, which does not support URLs.
func writeCoordination(b *strings.Builder, c *resolve.Cache, tls *resolve.TLS) {
	fmt.Fprintf(b, "    \"CACHE_REDIS_HOST\": os.environ[%s],\n", Quote(EnvValkeyHost))
	fmt.Fprintf(b, "    \"CACHE_REDIS_PORT\": int(os.environ[%s]),\n", Quote(EnvValkeyPort))
	fmt.Fprintf(b, "    \"CACHE_REDIS_DB\": %d,\n", c.Database)
	fmt.Fprintf(b, "    \"CACHE_REDIS_USER\": os.environ.get(%s),\n", Quote(EnvValkeyUser))
	fmt.Fprintf(b, "    \"CACHE_REDIS_PASSWORD\": os.environ.get(%s),\n", Quote(EnvValkeyPassword))
	if tls == nil {
		return
	}
	b.WriteString("    \"CACHE_REDIS_SSL\": True,\n")
	for _, option := range []struct{ setting, name string }{
		{"CACHE_REDIS_SSL_CERT_REQS", "ssl_cert_reqs"},
		{"CACHE_REDIS_SSL_KEYFILE", "ssl_keyfile"},
		{"CACHE_REDIS_SSL_CERTFILE", "ssl_certfile"},
		{"CACHE_REDIS_SSL_CA_CERTS", "ssl_ca_certs"},
	} {
		fmt.Fprintf(b, "    \"%s\": %s.get(\"%s\"),\n", option.setting, valkeyTLS, option.name)
	}
}

func writeCelery(b *strings.Builder, v *resolve.Valkey) {
	if v.Broker == nil && v.ResultBackend == nil {
		return
	}
	b.WriteString("\n\nclass CeleryConfig(SupersetCeleryConfig):\n")
	if v.Broker != nil {
		writeCeleryURL(b, "broker_url", "broker_use_ssl", *v.Broker, v.TLS)
		// A worker waits for messages by polling, so that an answer takes no longer.
		fmt.Fprintf(b, "    broker_transport_options = {\"socket_connect_timeout\": %d, \"socket_timeout\": %d, \"socket_keepalive\": True}\n",
			connectSeconds, 2*answerSeconds)
	}
	if v.ResultBackend != nil {
		writeCeleryURL(b, "result_backend", "redis_backend_use_ssl", *v.ResultBackend, v.TLS)
		fmt.Fprintf(b, "    redis_socket_connect_timeout = %d\n    redis_socket_timeout = %d\n", connectSeconds, 2*answerSeconds)
	}
	b.WriteString("\n\nCELERY_CONFIG = CeleryConfig\n")
}

func writeCeleryURL(b *strings.Builder, setting, tlsSetting string, database int32, tls *resolve.TLS) {
	fmt.Fprintf(b, "    %s = %s + \"/%d\"\n", setting, valkeyURL, database)
	if tls != nil {
		fmt.Fprintf(b, "    %s = %s\n", tlsSetting, valkeyTLS)
	}
}

func writeResults(b *strings.Builder, v *resolve.Valkey) {
	if v.Results == nil {
		return
	}
	b.WriteString("RESULTS_BACKEND = RedisCache(\n")
	fmt.Fprintf(b, "    host=os.environ[%s],\n", Quote(EnvValkeyHost))
	fmt.Fprintf(b, "    port=int(os.environ[%s]),\n", Quote(EnvValkeyPort))
	fmt.Fprintf(b, "    username=os.environ.get(%s),\n", Quote(EnvValkeyUser))
	fmt.Fprintf(b, "    password=os.environ.get(%s),\n", Quote(EnvValkeyPassword))
	fmt.Fprintf(b, "    db=%d,\n", v.Results.Database)
	fmt.Fprintf(b, "    key_prefix=%s + %s,\n", valkeyPrefix, Quote(v.Results.Prefix))
	fmt.Fprintf(b, "    **%s,\n", valkeyTimeouts)
	if v.TLS != nil {
		fmt.Fprintf(b, "    ssl=True,\n    **%s,\n", valkeyTLS)
	}
	b.WriteString(")\n")
}
