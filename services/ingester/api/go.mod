module github.com/flotilla-dev/flotilla/services/ingester/api

go 1.26.0
