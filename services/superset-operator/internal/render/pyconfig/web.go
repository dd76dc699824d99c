package pyconfig

import (
	"fmt"
	"strings"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// writeWeb writes the settings of URLs, proxies and rate limits.
func writeWeb(b *strings.Builder, w *resolve.Web) {
	if w.InternalURL == "" {
		return
	}
	external := w.ExternalURL
	if external == "" {
		external = w.InternalURL
	}
	fmt.Fprintf(b, "WEBDRIVER_BASEURL = %s\n", Quote(w.InternalURL))
	// Superset's default is a copy of the other one's default, so both are needed.
	fmt.Fprintf(b, "WEBDRIVER_BASEURL_USER_FRIENDLY = %s\n", Quote(external))
	// Superset's limit for all requests, 50 a second, counts by address: all users behind a proxy that the operator does not
	// know, or behind a second one, would share it. Limits of the login stay.
	b.WriteString("RATELIMIT_APPLICATION = None\n")
	if !w.Proxied {
		return
	}
	// The port that a proxy reports is its own, which may differ from the one that users see; the Host header has the latter.
	b.WriteString("ENABLE_PROXY_FIX = True\n")
	b.WriteString("PROXY_FIX_CONFIG = {\"x_for\": 1, \"x_proto\": 1, \"x_host\": 1, \"x_port\": 0, \"x_prefix\": 1}\n")
	if w.Secure {
		b.WriteString("SESSION_COOKIE_SECURE = True\n")
	}
}

// limitSeconds is the timeout of Valkey for rate limits; afterwards the request is counted in memory. It is shorter
// than the timeout of a probe, 5 s.
const limitSeconds = 2

// writeLimits stores rate limits in Valkey, so that all pods share them, if the addresses of users are known. While
// Valkey is down, each process counts for itself: an outage of Valkey does not become an outage of Superset.
func writeLimits(b *strings.Builder, p *resolve.Python) {
	v := p.Valkey
	if v == nil || !p.Web.Proxied {
		return
	}
	database := int32(0)
	if len(v.Caches) > 0 {
		database = v.Caches[0].Database
	}
	options := fmt.Sprintf("\"socket_connect_timeout\": %[1]d, \"socket_timeout\": %[1]d", limitSeconds)
	if v.TLS != nil {
		options += ", **" + valkeyTLS
	}
	b.WriteString("RATELIMIT_ENABLED = True\n")
	fmt.Fprintf(b, "RATELIMIT_STORAGE_URI = %s + \"/%d?\" + urlencode({%s}, quote_via=quote)\n", valkeyURL, database, options)
	fmt.Fprintf(b, "RATELIMIT_KEY_PREFIX = %s + \"ratelimit\"\nRATELIMIT_IN_MEMORY_FALLBACK_ENABLED = True\n", valkeyPrefix)
}

// HeartbeatFile is touched by a Celery process while it works. /dev/shm is writable with a read-only root.
const HeartbeatFile = "/dev/shm/superset-heartbeat"

// writeHeartbeat lets a probe check that a worker or the scheduler works, without importing Superset each time.
func writeHeartbeat(b *strings.Builder, h resolve.Heartbeat) {
	if h == "" {
		return
	}
	fmt.Fprintf(b, "\n\ndef _heartbeat(**_):\n    try:\n        with open(%s, \"w\"):\n            pass\n    except OSError:\n        pass\n\n\n",
		Quote(HeartbeatFile))
	if h == resolve.HeartbeatWorker {
		b.WriteString("from celery import signals\n\nsignals.worker_ready.connect(_heartbeat, weak=False)\n")
		b.WriteString("signals.heartbeat_sent.connect(_heartbeat, weak=False)\n")
		return
	}
	b.WriteString(`def _watch_scheduler(sender=None, **_):
    scheduler = sender.scheduler
    tick = scheduler.tick

    def beating(*args, **kwargs):
        _heartbeat()
        return tick(*args, **kwargs)

    scheduler.tick = beating


from celery import signals

signals.beat_init.connect(_watch_scheduler, weak=False)
`)
}
