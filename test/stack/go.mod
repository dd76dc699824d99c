module github.com/flotilla-dev/flotilla/test/stack

go 1.26.0

require (
	github.com/flotilla-dev/flotilla/libs/testkit v0.0.0
	github.com/flotilla-dev/flotilla/libs/contract v0.0.0
	github.com/flotilla-dev/flotilla/libs/bus v0.0.0
	github.com/flotilla-dev/flotilla/libs/telemetry v0.0.0
)

replace (
	github.com/flotilla-dev/flotilla/libs/testkit => ../../libs/testkit
	github.com/flotilla-dev/flotilla/libs/contract => ../../libs/contract
	github.com/flotilla-dev/flotilla/libs/bus => ../../libs/bus
	github.com/flotilla-dev/flotilla/libs/telemetry => ../../libs/telemetry
)
