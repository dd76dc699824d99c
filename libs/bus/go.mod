module github.com/flotilla-dev/flotilla/libs/bus

go 1.26.0

require (
	github.com/flotilla-dev/flotilla/libs/contract v0.0.0
	github.com/go-logr/logr v1.4.4
	github.com/nats-io/nats.go v1.55.0
	github.com/prometheus/client_golang v1.25.0
	k8s.io/utils v0.0.0-20260707023825-cf1189d6abe3
)

require github.com/google/go-cmp v0.7.0 // indirect

require (
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/flotilla-dev/flotilla/libs/testkit v0.0.0
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/nats-io/nkeys v0.4.16 // indirect
	github.com/nats-io/nuid v1.0.1 // indirect
	github.com/prometheus/client_model v0.6.3 // indirect
	github.com/prometheus/common v0.72.0 // indirect
	github.com/prometheus/procfs v0.22.0 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace (
	github.com/flotilla-dev/flotilla/libs/contract => ../../libs/contract
	github.com/flotilla-dev/flotilla/libs/telemetry => ../../libs/telemetry
)

replace github.com/flotilla-dev/flotilla/libs/testkit => ../testkit
