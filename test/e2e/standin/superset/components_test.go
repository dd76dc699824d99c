package superset_test

const valkeyImage = "valkey"
