module github.com/flotilla-dev/flotilla/docs/examples/subscribe

go 1.26.0

require (
	github.com/flotilla-dev/flotilla/libs/contract v0.0.0
)

replace (
	github.com/flotilla-dev/flotilla/libs/contract => ../../../libs/contract
)
