package events

import (
	"fmt"
	"slices"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// attempt is an operation that the server must deny.
type attempt struct {
	name    string
	subject string
	body    string
	listens bool // subscribe instead of publish
}

// forbidden maps each identity to the operations that the server must deny.
func forbidden() map[string][]attempt {
	own := map[string][]attempt{
		"superset-operator": observer("superset-operator", "engine-operator", contract.Superset, contract.FireboltEngine),
		"engine-operator":   observer("engine-operator", "superset-operator", contract.FireboltEngine, contract.Superset),
		"ingester":          ingester(),
		"status-aggregator": aggregator(),
		"bootstrap":         bootstrap(),
		"pager":             tool(),
		"reader":            reader(),
	}
	for identity := range own {
		own[identity] = append(own[identity], deniedToAll(identity)...)
	}
	return own
}

func publish(name, subject string) attempt { return attempt{name: name, subject: subject} }

func listen(name, subject string) attempt {
	return attempt{name: name, subject: subject, listens: true}
}

func request(name, subject, body string) attempt {
	return attempt{name: name, subject: subject, body: body}
}

const consumerOfAll = `{"stream_name":"FLOTILLA_LIFECYCLE","config":{"name":"x","filter_subjects":["flotilla.lifecycle.v1.prod.team-a.>","flotilla.lifecycle.v1.>"],"ack_policy":"none"}}`

// deniedToAll returns the operations that all identities are denied.
func deniedToAll(me string) []attempt {
	out := []attempt{
		listen("subscribe to everything", ">"),
		listen("read all answers", "_INBOX.>"),
		listen("subscribe to all requests", "$JS.API.>"),
		listen("subscribe to advisories", "$JS.EVENT.ADVISORY.>"),
		listen("subscribe to another cluster's events", "flotilla.lifecycle.v1.dr.>"),
		listen("subscribe to the server's own events", "$SYS.>"),
		publish("query the server", "$SYS.REQ.SERVER.PING"),
		publish("observe for another cluster", "flotilla.obs.v1.dr.team-a.superset.main."+me),
		publish("send a heartbeat for another cluster", "flotilla.hb.v1.dr."+me),
		publish("publish another cluster's history", "flotilla.lifecycle.v1.dr.team-a.superset.main.deleted"),
		publish("reply in another's name", "_INBOX_victim.1"),
		publish("write another bucket", "$KV.OTHER.key"),
		request("create a stream", "$JS.API.STREAM.CREATE.MINE", `{"name":"MINE","subjects":["flotilla.>"]}`),
		request("list all streams", "$JS.API.STREAM.LIST", `{}`),
		request("back a stream up", "$JS.API.STREAM.SNAPSHOT.FLOTILLA_OBS", `{"deliver_subject":"x"}`),
		request("restore a stream", "$JS.API.STREAM.RESTORE.FLOTILLA_OBS", `{}`),
		request("create a durable consumer by the old subject", "$JS.API.CONSUMER.DURABLE.CREATE.FLOTILLA_LIFECYCLE.x", `{"stream_name":"FLOTILLA_LIFECYCLE","config":{"durable_name":"x"}}`),
		request("create a consumer of many filters on the history", "$JS.API.CONSUMER.CREATE.FLOTILLA_LIFECYCLE.x", consumerOfAll),
		request("create a nameless consumer", "$JS.API.CONSUMER.CREATE.FLOTILLA_LIFECYCLE", consumerOfAll),
		request("create a consumer for another cluster", "$JS.API.CONSUMER.CREATE.FLOTILLA_OBS.x.flotilla.obs.v1.dr.>", `{}`),
		request("stop another's consumer", "$JS.API.CONSUMER.PAUSE.FLOTILLA_LIFECYCLE.other", `{"pause_until":"2100-01-01T00:00:00Z"}`),
		request("read a message by its sequence", "$JS.API.STREAM.MSG.GET.FLOTILLA_LIFECYCLE", `{"seq":1}`),
		request("read dead letters", "$JS.API.DIRECT.GET.FLOTILLA_DLQ", `{"seq":1}`),
	}
	for _, stream := range assets() {
		if me != "status-aggregator" || stream != contract.StreamObservations {
			out = append(out, request("purge "+stream, "$JS.API.STREAM.PURGE."+stream, ""))
		}
		out = append(out,
			request("delete "+stream, "$JS.API.STREAM.DELETE."+stream, ""),
			request("delete a message of "+stream, "$JS.API.STREAM.MSG.DELETE."+stream, `{"seq":1}`),
		)
		if me == "bootstrap" {
			continue
		}
		out = append(out,
			request("create "+stream, "$JS.API.STREAM.CREATE."+stream, `{"name":"`+stream+`"}`),
			request("change "+stream, "$JS.API.STREAM.UPDATE."+stream, `{"name":"`+stream+`","max_msgs":1}`),
		)
	}
	for _, other := range []string{"superset-operator", "engine-operator", "ingester", "status-aggregator", "bootstrap", "reader", "pager"} {
		if other != me {
			out = append(out, listen("read the answers to "+other, "_INBOX_"+other+".>"))
		}
	}
	return out
}

func assets() []string {
	return []string{
		contract.StreamObservations, contract.StreamHeartbeats, contract.StreamLifecycle,
		contract.StreamChanges, contract.StreamDeadLetters, "KV_" + contract.BucketStatus,
	}
}

// writesOfOthers returns publishes that only the aggregator and the ingester are granted.
func writesOfOthers() []attempt {
	return []attempt{
		publish("publish the history", "flotilla.lifecycle.v1.prod.team-a.superset.main.deleted"),
		publish("write a status entry", "$KV.FLOTILLA_STATUS.prod.team-a.superset.main"),
		publish("publish a dead letter", "flotilla.dlq.v1.flotilla-obs.malformed"),
		publish("publish a change", "flotilla.change.v1.prod.team-a.model.main.deleted"),
	}
}

// reads returns the operations that only readers are granted.
func reads() []attempt {
	return []attempt{
		listen("subscribe to the history", "flotilla.lifecycle.v1.prod.>"),
		listen("subscribe to observations", "flotilla.obs.v1.prod.>"),
		listen("subscribe to status entries", "$KV.FLOTILLA_STATUS.>"),
		request("create a consumer of observations", "$JS.API.CONSUMER.CREATE.FLOTILLA_OBS.x.flotilla.obs.v1.prod.>", `{}`),
		request("create a consumer of status entries", "$JS.API.CONSUMER.CREATE.KV_FLOTILLA_STATUS.x.$KV.FLOTILLA_STATUS.prod.>", `{}`),
		request("read a status entry", "$JS.API.DIRECT.GET.KV_FLOTILLA_STATUS.$KV.FLOTILLA_STATUS.prod.team-a.superset.main", ""),
		request("read the last event", "$JS.API.DIRECT.GET.FLOTILLA_LIFECYCLE.flotilla.lifecycle.v1.prod.team-a.superset.main.phase", ""),
		request("read another's consumer", "$JS.API.CONSUMER.MSG.NEXT.FLOTILLA_LIFECYCLE.pager", `{"batch":1}`),
		request("inspect another's consumer", "$JS.API.CONSUMER.INFO.FLOTILLA_LIFECYCLE.pager", ""),
		request("delete another's consumer", "$JS.API.CONSUMER.DELETE.FLOTILLA_LIFECYCLE.pager", ""),
		publish("acknowledge for another", "$JS.ACK.FLOTILLA_LIFECYCLE.pager.1.1.1.1763719200000000000.0"),
	}
}

func observer(me, other string, mine, others contract.Kind) []attempt {
	out := append(writesOfOthers(), reads()...)
	return append(out,
		publish("observe in another's name", fmt.Sprintf("flotilla.obs.v1.prod.team-a.%s.main.%s", mine, other)),
		publish("observe another's kind", fmt.Sprintf("flotilla.obs.v1.prod.team-a.%s.main.%s", others, me)),
		publish("observe another's kind in its name", fmt.Sprintf("flotilla.obs.v1.prod.team-a.%s.main.%s", others, other)),
		publish("send a heartbeat in another's name", "flotilla.hb.v1.prod."+other),
		request("read any observation by its sequence", "$JS.API.DIRECT.GET.FLOTILLA_OBS", `{"seq":1}`),
		request("read another's observation", "$JS.API.DIRECT.GET.FLOTILLA_OBS.flotilla.obs.v1.prod.*.*.*."+other, ""),
		request("read change events", "$JS.API.DIRECT.GET.FLOTILLA_CHANGES", `{"seq":1}`),
		request("read heartbeats", "$JS.API.DIRECT.GET.FLOTILLA_HB", `{"seq":1}`),
		request("read the history", "$JS.API.DIRECT.GET.FLOTILLA_LIFECYCLE", `{"seq":1}`),
		request("read status entries", "$JS.API.DIRECT.GET.KV_FLOTILLA_STATUS", `{"seq":1}`),
	)
}

func ingester() []attempt {
	return append(append(slices.DeleteFunc(writesOfOthers(), func(a attempt) bool { return a.name == "publish a change" }), reads()...),
		publish("publish a change of another's kind", "flotilla.change.v1.prod.team-a.superset.main.deleted"),
		publish("observe", "flotilla.obs.v1.prod.team-a.model.main.ingester"),
		publish("observe in another's name", "flotilla.obs.v1.prod.team-a.superset.main.superset-operator"),
		publish("send a heartbeat in another's name", "flotilla.hb.v1.prod.superset-operator"),
		request("read observations", "$JS.API.DIRECT.GET.FLOTILLA_OBS", `{"seq":1}`),
		request("read the history", "$JS.API.DIRECT.GET.FLOTILLA_LIFECYCLE", `{"seq":1}`),
	)
}

func aggregator() []attempt {
	return []attempt{
		publish("observe in an operator's name", "flotilla.obs.v1.prod.team-a.superset.main.superset-operator"),
		publish("send a heartbeat in an operator's name", "flotilla.hb.v1.prod.superset-operator"),
		publish("publish a change", "flotilla.change.v1.prod.team-a.model.main.deleted"),
		publish("write another cluster's status entry", "$KV.FLOTILLA_STATUS.dr.team-a.superset.main"),
		publish("acknowledge for a tool", "$JS.ACK.FLOTILLA_LIFECYCLE.pager.1.1.1.1763719200000000000.0"),
		request("read another cluster's status entry", "$JS.API.DIRECT.GET.KV_FLOTILLA_STATUS.$KV.FLOTILLA_STATUS.dr.team-a.superset.main", ""),
		request("read change events", "$JS.API.DIRECT.GET.FLOTILLA_CHANGES", `{"seq":1}`),
		request("create a consumer of change events", "$JS.API.CONSUMER.CREATE.FLOTILLA_CHANGES.x.flotilla.change.v1.prod.>", `{}`),
		request("create a consumer of all clusters", "$JS.API.CONSUMER.CREATE.FLOTILLA_OBS.x.flotilla.obs.v1.>", `{}`),
		request("create a consumer of many filters", "$JS.API.CONSUMER.CREATE.FLOTILLA_OBS.x", `{}`),
		listen("subscribe to the history outside the streams", "flotilla.lifecycle.v1.prod.>"),
		listen("subscribe to observations outside the streams", "flotilla.obs.v1.prod.>"),
	}
}

func bootstrap() []attempt {
	out := append(writesOfOthers(), reads()...)
	return append(out,
		publish("observe", "flotilla.obs.v1.prod.team-a.superset.main.superset-operator"),
		publish("send a heartbeat", "flotilla.hb.v1.prod.superset-operator"),
		request("create a consumer of dead letters", "$JS.API.CONSUMER.CREATE.FLOTILLA_DLQ.x.flotilla.dlq.v1.>", `{}`),
		request("read observations", "$JS.API.DIRECT.GET.FLOTILLA_OBS", `{"seq":1}`),
	)
}

// tool returns the operations that pager, a tool of team-a, is denied. team-b is another tenant.
func tool() []attempt {
	return append(writesOfOthers(),
		publish("observe", "flotilla.obs.v1.prod.team-a.superset.main.superset-operator"),
		publish("send a heartbeat", "flotilla.hb.v1.prod.superset-operator"),
		listen("subscribe to another namespace", "flotilla.lifecycle.v1.prod.team-b.>"),
		listen("subscribe to all namespaces", "flotilla.lifecycle.v1.prod.>"),
		listen("subscribe to all namespaces by a wildcard", "flotilla.lifecycle.v1.prod.*.superset.main.phase"),
		listen("subscribe to observations of its namespace", "flotilla.obs.v1.prod.team-a.>"),
		listen("subscribe to change events of its namespace", "flotilla.change.v1.prod.team-a.>"),
		listen("subscribe to status entries of its namespace outside the bucket", "$KV.FLOTILLA_STATUS.prod.team-a.>"),
		request("read another namespace's entry", "$JS.API.DIRECT.GET.KV_FLOTILLA_STATUS.$KV.FLOTILLA_STATUS.prod.team-b.superset.main", ""),
		request("read any entry by a wildcard", "$JS.API.DIRECT.GET.KV_FLOTILLA_STATUS.$KV.FLOTILLA_STATUS.prod.*.superset.main", ""),
		request("read any entry by its sequence", "$JS.API.DIRECT.GET.KV_FLOTILLA_STATUS", `{"seq":2}`),
		request("read another namespace's last event", "$JS.API.DIRECT.GET.FLOTILLA_LIFECYCLE.flotilla.lifecycle.v1.prod.team-b.superset.main.phase", ""),
		request("read any event by its sequence", "$JS.API.DIRECT.GET.FLOTILLA_LIFECYCLE", `{"seq":2}`),
		request("read observations", "$JS.API.DIRECT.GET.FLOTILLA_OBS", `{"seq":1}`),
		request("list all names by the bucket's subjects", "$JS.API.STREAM.INFO.KV_FLOTILLA_STATUS", `{"subjects_filter":">"}`),
		request("list all names by the history's subjects", "$JS.API.STREAM.INFO.FLOTILLA_LIFECYCLE", `{"subjects_filter":">"}`),
		request("find streams", "$JS.API.STREAM.NAMES", `{}`),
		request("list consumers", "$JS.API.CONSUMER.LIST.FLOTILLA_LIFECYCLE", `{}`),
		request("widen its consumer", "$JS.API.CONSUMER.CREATE.FLOTILLA_LIFECYCLE.pager.flotilla.lifecycle.v1.>", `{}`),
		request("have its events delivered into the bucket", "$JS.API.CONSUMER.CREATE.FLOTILLA_LIFECYCLE.pager.flotilla.lifecycle.v1.prod.team-a.>",
			`{"stream_name":"FLOTILLA_LIFECYCLE","config":{"durable_name":"pager","filter_subject":"flotilla.lifecycle.v1.prod.team-a.>","deliver_subject":"$KV.FLOTILLA_STATUS.prod.team-b.superset.main"}}`),
		request("read another tool's consumer", "$JS.API.CONSUMER.MSG.NEXT.FLOTILLA_LIFECYCLE.other", `{"batch":1}`),
		request("inspect another tool's consumer", "$JS.API.CONSUMER.INFO.FLOTILLA_LIFECYCLE.other", ""),
		request("delete another tool's consumer", "$JS.API.CONSUMER.DELETE.FLOTILLA_LIFECYCLE.other", ""),
		request("delete its own consumer", "$JS.API.CONSUMER.DELETE.FLOTILLA_LIFECYCLE.pager", ""),
		publish("acknowledge for another tool", "$JS.ACK.FLOTILLA_LIFECYCLE.other.1.1.1.1763719200000000000.0"),
		publish("acknowledge for another tool in the newer form", "$JS.ACK._.hash.FLOTILLA_LIFECYCLE.other.1.1.1.1763719200000000000.0"),
	)
}

func reader() []attempt {
	return append(writesOfOthers(),
		publish("observe", "flotilla.obs.v1.prod.team-a.superset.main.superset-operator"),
		publish("send a heartbeat", "flotilla.hb.v1.prod.superset-operator"),
		listen("subscribe to dead letters", "flotilla.dlq.v1.>"),
		listen("subscribe to another cluster's changes", "flotilla.change.v1.dr.>"),
		request("read another cluster's entry", "$JS.API.DIRECT.GET.KV_FLOTILLA_STATUS.$KV.FLOTILLA_STATUS.dr.team-a.superset.main", ""),
		request("read any entry by its sequence", "$JS.API.DIRECT.GET.KV_FLOTILLA_STATUS", `{"seq":1}`),
		request("create a consumer of another cluster's history", "$JS.API.CONSUMER.CREATE.FLOTILLA_LIFECYCLE.x.flotilla.lifecycle.v1.dr.>", `{}`),
		request("create a consumer of all clusters", "$JS.API.CONSUMER.CREATE.FLOTILLA_LIFECYCLE.x.flotilla.lifecycle.v1.>", `{}`),
		request("create a consumer of dead letters", "$JS.API.CONSUMER.CREATE.FLOTILLA_DLQ.x.flotilla.dlq.v1.>", `{}`),
	)
}
