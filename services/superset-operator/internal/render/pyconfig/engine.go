package pyconfig

import (
	"fmt"
	"strings"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// connectTimeout is how many seconds a server may take to answer: an address that drops packets would block a process
// for minutes.
const connectTimeout = 10

// timeoutDrivers are the drivers whose connect function has the parameter connect_timeout, in seconds. A scheme without
// a driver means the first of its kind.
var timeoutDrivers = []string{
	"postgresql", "postgresql+psycopg2", "postgresql+psycopg", "mysql", "mysql+mysqldb", "mysql+pymysql",
}

// writePool writes the options of the connections to the metastore. It omits options of servers for SQLite; if the URI is
// read at run time, the rendered Python decides.
func writePool(b *strings.Builder, pool *resolve.Pool, db *resolve.Database) {
	if pool == nil {
		return
	}
	b.WriteString("SQLALCHEMY_ENGINE_OPTIONS = {\n")
	switch {
	case pool.Null:
		b.WriteString("    \"poolclass\": NullPool,\n}\n")
	case db.Mode == resolve.DatabaseURI:
		b.WriteString("}\nif not SQLALCHEMY_DATABASE_URI.startswith(\"sqlite\"):\n    SQLALCHEMY_ENGINE_OPTIONS.update({\n")
		writeSizes(b, pool, "        ")
		b.WriteString("    })\n")
	default:
		writeSizes(b, pool, "    ")
		b.WriteString("}\n")
	}
	writeServer(b, db)
}

func writeSizes(b *strings.Builder, pool *resolve.Pool, indent string) {
	fmt.Fprintf(b, "%s\"pool_size\": %d,\n", indent, pool.Size)
	fmt.Fprintf(b, "%s\"max_overflow\": %d,\n", indent, pool.MaxOverflow)
	if pool.Recycle > 0 {
		fmt.Fprintf(b, "%s\"pool_recycle\": %d,\n", indent, pool.Recycle)
	}
	fmt.Fprintf(b, "%s\"pool_pre_ping\": %s,\n", indent, literal(pool.PrePing))
	if pool.Timeout > 0 {
		fmt.Fprintf(b, "%s\"pool_timeout\": %d,\n", indent, pool.Timeout)
	}
}

// writeServer writes the settings that depend on the database server, which the driver in the URI identifies.
func writeServer(b *strings.Builder, db *resolve.Database) {
	if db.Mode == resolve.DatabaseNone {
		return
	}
	quoted := make([]string, len(timeoutDrivers))
	for i, name := range timeoutDrivers {
		quoted[i] = Quote(name)
	}
	b.WriteString("_database_driver = SQLALCHEMY_DATABASE_URI.partition(\":\")[0]\n")
	fmt.Fprintf(b, "if _database_driver in (%s) and \"connect_timeout=\" not in SQLALCHEMY_DATABASE_URI:\n", strings.Join(quoted, ", "))
	fmt.Fprintf(b, "    SQLALCHEMY_ENGINE_OPTIONS[\"connect_args\"] = {\"connect_timeout\": %d}\n", connectTimeout)
	// Superset intends this level, but sets it in a way that has no effect.
	b.WriteString("if _database_driver.startswith(\"mysql\"):\n    SQLALCHEMY_ENGINE_OPTIONS[\"isolation_level\"] = \"READ COMMITTED\"\n")
}
