module github.com/flotilla-dev/flotilla/libs/bus

go 1.26.0

require (
	github.com/flotilla-dev/flotilla/libs/contract v0.0.0
	github.com/flotilla-dev/flotilla/libs/telemetry v0.0.0
)

replace (
	github.com/flotilla-dev/flotilla/libs/contract => ../../libs/contract
	github.com/flotilla-dev/flotilla/libs/telemetry => ../../libs/telemetry
)
