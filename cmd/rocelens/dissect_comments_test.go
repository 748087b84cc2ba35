package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// commented is a pcapng file with a comment on the file and on its second packet.
func commented(t *testing.T) string {
	t.Helper()
	word := binary.LittleEndian.AppendUint32
	block := func(kind uint32, body []byte, comment string) []byte {
		if comment != "" {
			body = append(word(body, uint32(len(comment))<<16|1), comment...)
			body = append(body, make([]byte, -len(comment)&3)...)
		}
		total := uint32(len(body) + 12)
		return word(append(word(word(nil, kind), total), body...), total)
	}
	file := block(0x0a0d0d0a, append(word(word(nil, 0x1a2b3c4d), 1), bytes.Repeat([]byte{0xff}, 8)...), "rack 7, after the upgrade")
	file = append(file, block(1, []byte{1, 0, 0, 0, 0, 0, 0, 0}, "")...)
	frames := framesOfFile(t, filepath.Join(packageDirectory, "..", "..", "testdata", "derived", "sit-loss-nak.pcap"))
	for i, comment := range []string{"", "here it\x1b[2J stalls"} {
		n := uint32(len(frames[i]))
		body := word(word(word(word(word(nil, 0), 0), uint32(i+1)), n), n)
		body = append(append(body, frames[i]...), make([]byte, -n&3)...)
		file = append(file, block(6, body, comment)...)
	}
	path := filepath.Join(t.TempDir(), "commented.pcapng")
	require.NoError(t, os.WriteFile(path, file, 0o600))
	return path
}

// TestCommentsAreShown finds them in each output, without what would reach into the user's terminal.
func TestCommentsAreShown(t *testing.T) {
	path := commented(t)
	const packet = "here it\ufffd[2J stalls"
	o := execute(t, nil, "dissect", path)
	assert.Zero(t, o.code)
	assert.Equal(t, 1, bytes.Count([]byte(o.out), []byte("Comment: "+packet+"\n")))
	o = execute(t, nil, "dissect", "--packet", "1", path)
	assert.NotContains(t, o.out, "Comment")
	o = execute(t, nil, "dissect", "--packet", "2", "--json-lines", path)
	assert.Contains(t, o.out, `{"name":"Comment","field":"frame.comment","value":"`+packet+`","offset":0,"length":0}`)

	o = execute(t, nil, "analyze", path)
	assert.Contains(t, o.out, "  comment on the file: rack 7, after the upgrade\n  comment on packet 2: "+packet+"\n")
	o = execute(t, nil, "analyze", "--json", path)
	var document struct {
		Files []struct {
			Comments []string `json:"comments"`
		} `json:"files"`
	}
	require.NoError(t, json.Unmarshal([]byte(o.out), &document))
	require.Len(t, document.Files, 1)
	assert.Equal(t, []string{"the file: rack 7, after the upgrade", "packet 2: " + packet}, document.Files[0].Comments)
}
