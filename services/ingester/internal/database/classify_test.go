package database_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
)

// server returns an error of the server as callers wrap it.
func server(number uint16) error {
	return fmt.Errorf("insert: %w", &mysql.MySQLError{Number: number, Message: "message"})
}

func TestClassifyReturnsClass(t *testing.T) {
	tests := map[string]struct {
		err  error
		want database.Class
	}{
		"deadlock":                     {server(1213), database.Contention},
		"lock wait":                    {server(1205), database.Contention},
		"null":                         {server(1048), database.Content},
		"out of range":                 {server(1264), database.Content},
		"wrong value":                  {server(1292), database.Content},
		"invalid text":                 {server(1366), database.Content},
		"data too long":                {server(1406), database.Content},
		"invalid JSON":                 {server(3140), database.Content},
		"wrong character set for JSON": {server(3144), database.Content},
		"JSON value too big":           {server(3150), database.Content},
		"JSON key too big":             {server(3151), database.Content},
		"JSON nested too deep":         {server(3157), database.Content},
		"JSON constraint of MariaDB":   {server(4025), database.Content},
		"packet too large for server":  {server(1153), database.Content},
		"packet too large for driver":  {mysql.ErrPktTooLarge, database.Content},
		// Storage servers report outages of their own as an unknown error.
		"unknown error": {server(1105), database.Other},
		"value longer than max_allowed_packet": {&mysql.MySQLError{Number: 1105, Message: "Parameter of prepared statement" +
			" which is set through mysql_send_long_data() is longer than 'max_allowed_packet' bytes"}, database.Content},
		"JSON longer than max_allowed_packet": {server(1301), database.Content},
		"too many connections":                {server(1040), database.Other},
		"no such table":                       {server(1146), database.Other},
		"access denied":                       {server(1045), database.Other},
		"invalid connection":                  {mysql.ErrInvalidConn, database.Lost},
		"bad connection":                      {driver.ErrBadConn, database.Lost},
		"returned connection":                 {sql.ErrConnDone, database.Lost},
		"end of stream":                       {io.EOF, database.Lost},
		"broken stream":                       {fmt.Errorf("read: %w", io.ErrUnexpectedEOF), database.Lost},
		"refused connection":                  {&net.OpError{Op: "dial", Err: errors.New("connection refused")}, database.Lost},
		"canceled":                            {context.Canceled, database.Other},
		"no row":                              {sql.ErrNoRows, database.Other},
		"another error":                       {errors.New("unexpected"), database.Other},
		"no error":                            {nil, database.Other},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := database.Classify(test.err); got != test.want {
				t.Errorf("%v is %s, want %s", test.err, got, test.want)
			}
		})
	}
}
