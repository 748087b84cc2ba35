package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

const (
	maxHello        = 16 << 10 // bytes of a client's first packet
	helloPatience   = 10 * time.Second
	packetHello     = 0 // from the client
	packetException = 2 // from the server
	codeNotLetIn    = 516
)

// guard reads the first packet of the native protocol before the engine does. ClickHouse 26.7 in this form aborts on
// every error before a client is logged in: a wrong password, or a port scan, which sends nothing. So the engine only sees
// clients whose first packet is whole and whose password is right.
type guard struct{ passwords map[string][sha256.Size]byte } // hashes, by user

// readGuard takes the users from a users.xml. Those without a password are not let in.
func readGuard(path string) (guard, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return guard{}, fmt.Errorf("read users: %w", err)
	}
	var file struct {
		Users struct {
			Users []struct {
				XMLName  xml.Name
				Hash     string `xml:"password_sha256_hex"`
				Password string `xml:"password"`
			} `xml:",any"`
		} `xml:"users"`
	}
	if err := xml.Unmarshal(data, &file); err != nil {
		return guard{}, fmt.Errorf("read users: %s: %w", path, err)
	}
	g := guard{passwords: map[string][sha256.Size]byte{}}
	for _, user := range file.Users.Users {
		var hash [sha256.Size]byte
		switch {
		case user.Password != "":
			hash = sha256.Sum256([]byte(user.Password))
		case user.Hash == "":
			continue
		default:
			if n, err := hex.Decode(hash[:], []byte(user.Hash)); err != nil || n != len(hash) {
				return guard{}, fmt.Errorf("read users: %s: the hash of %s is none", path, user.XMLName.Local)
			}
		}
		g.passwords[user.XMLName.Local] = hash
	}
	return g, nil
}

// admit reads the client's first packet, and returns it for the engine to read, or nothing for a client that is to be
// turned away, which has been told why.
func (g guard) admit(client net.Conn) []byte {
	if err := client.SetReadDeadline(time.Now().Add(helloPatience)); err != nil {
		return nil
	}
	var read bytes.Buffer
	// Not a byte more is read than belongs to the packet.
	user, password, err := readHello(bufio.NewReaderSize(io.TeeReader(oneByte{io.LimitReader(client, maxHello)}, &read), 16))
	if err != nil || client.SetReadDeadline(time.Time{}) != nil {
		return nil
	}
	want, known := g.passwords[user]
	got := sha256.Sum256([]byte(password))
	if !known || subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
		_, _ = client.Write(exception(codeNotLetIn, user+": Authentication failed: password is incorrect, or there is no user with such name."))
		return nil
	}
	return read.Bytes()
}

// oneByte reads one byte at a time, so that nothing behind the packet is taken from the connection.
type oneByte struct{ io.Reader }

func (r oneByte) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(len(p), 1)]) }

// readHello reads the packet: name, version and protocol of the client, database, user, password.
func readHello(r *bufio.Reader) (user, password string, err error) {
	kind, err := binary.ReadUvarint(r)
	if err != nil {
		return "", "", err
	}
	if kind != packetHello {
		return "", "", errors.New("not the native protocol")
	}
	if _, err = readText(r); err != nil {
		return "", "", err
	}
	for range 3 { // major, minor, revision
		if _, err = binary.ReadUvarint(r); err != nil {
			return "", "", err
		}
	}
	var texts [3]string
	for i := range texts {
		if texts[i], err = readText(r); err != nil {
			return "", "", err
		}
	}
	return texts[1], texts[2], nil
}

func readText(r *bufio.Reader) (string, error) {
	length, err := binary.ReadUvarint(r)
	if err != nil {
		return "", err
	}
	if length > maxHello {
		return "", io.ErrUnexpectedEOF
	}
	text := make([]byte, length)
	_, err = io.ReadFull(r, text)
	return string(text), err
}

// exception is the packet by which the server refuses.
func exception(code uint32, message string) []byte {
	packet := binary.LittleEndian.AppendUint32([]byte{packetException}, code)
	for _, text := range []string{"DB::Exception", message, ""} {
		packet = append(binary.AppendUvarint(packet, uint64(len(text))), text...)
	}
	return append(packet, 0) // no further exception inside
}
