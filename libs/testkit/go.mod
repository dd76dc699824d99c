module github.com/flotilla-dev/flotilla/libs/testkit

go 1.26.0
