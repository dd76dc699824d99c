module github.com/flotilla-dev/flotilla/services/engine-operator

go 1.26.0

require (
	github.com/flotilla-dev/flotilla/services/engine-operator/api v0.0.0
	github.com/flotilla-dev/flotilla/libs/contract v0.0.0
	github.com/flotilla-dev/flotilla/libs/conditions v0.0.0
	github.com/flotilla-dev/flotilla/libs/kube v0.0.0
	github.com/flotilla-dev/flotilla/libs/telemetry v0.0.0
	github.com/flotilla-dev/flotilla/libs/bus v0.0.0
	github.com/flotilla-dev/flotilla/libs/testkit v0.0.0
)

replace (
	github.com/flotilla-dev/flotilla/services/engine-operator/api => ../../services/engine-operator/api
	github.com/flotilla-dev/flotilla/libs/contract => ../../libs/contract
	github.com/flotilla-dev/flotilla/libs/conditions => ../../libs/conditions
	github.com/flotilla-dev/flotilla/libs/kube => ../../libs/kube
	github.com/flotilla-dev/flotilla/libs/telemetry => ../../libs/telemetry
	github.com/flotilla-dev/flotilla/libs/bus => ../../libs/bus
	github.com/flotilla-dev/flotilla/libs/testkit => ../../libs/testkit
)
