module github.com/flotilla-dev/flotilla/libs/telemetry

go 1.26.0
