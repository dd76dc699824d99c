package pyconfig

// EnvPrefix begins the names of the operator's environment variables.
const EnvPrefix = "SUPERSET_OPERATOR__"

// Names of the environment variables that superset_config.py reads.
const (
	EnvInstanceName      = EnvPrefix + "INSTANCE_NAME"
	EnvSecretKey         = EnvPrefix + "SECRET_KEY"
	EnvPreviousSecretKey = EnvPrefix + "PREVIOUS_SECRET_KEY"
	EnvDatabaseURI       = EnvPrefix + "DB_URI"
	EnvDatabaseHost      = EnvPrefix + "DB_HOST"
	EnvDatabasePort      = EnvPrefix + "DB_PORT"
	EnvDatabaseName      = EnvPrefix + "DB_NAME"
	EnvDatabaseUser      = EnvPrefix + "DB_USER"
	EnvDatabasePassword  = EnvPrefix + "DB_PASS"
	EnvValkeyHost        = EnvPrefix + "VALKEY_HOST"
	EnvValkeyPort        = EnvPrefix + "VALKEY_PORT"
	EnvValkeyUser        = EnvPrefix + "VALKEY_USER"
	EnvValkeyPassword    = EnvPrefix + "VALKEY_PASS"
)
