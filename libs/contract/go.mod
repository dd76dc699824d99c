module github.com/flotilla-dev/flotilla/libs/contract

go 1.26.0
