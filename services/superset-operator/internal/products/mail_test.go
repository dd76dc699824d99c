//go:build products

package products

import (
	"bufio"
	"fmt"
	"net"
	"net/textproto"
	"strings"
	"testing"
)

// mails is a mail server that keeps the received mails.
type mails struct {
	port int32
	// got receives the text of each mail, with its header.
	got chan string
}

func mailServer(t *testing.T) *mails {
	t.Helper()
	m := &mails{got: make(chan string, 100)}
	m.port = listen(t, func(conn net.Conn) { go m.serve(conn) })
	return m
}

// serve receives the mails of a connection.
func (m *mails) serve(conn net.Conn) {
	defer conn.Close()
	reader := textproto.NewReader(bufio.NewReader(conn))
	reply := func(line string) { _, _ = fmt.Fprintf(conn, "%s\r\n", line) }
	reply("220 mail.example.com")
	for {
		line, err := reader.ReadLine()
		if err != nil {
			return
		}
		verb, _, _ := strings.Cut(strings.ToUpper(line), " ")
		switch verb {
		case "DATA":
			reply("354 start mail input")
			text, err := reader.ReadDotBytes()
			if err != nil {
				return
			}
			m.got <- string(text)
			reply("250 OK")
		case "QUIT":
			reply("221 bye")
			return
		default:
			reply("250 OK")
		}
	}
}
