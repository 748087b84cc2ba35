package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCommentsAreShown finds them in each output, without what would reach into the user's terminal.
func TestCommentsAreShown(t *testing.T) {
	path := filepath.Join(packageDirectory, "..", "..", "testdata", "derived", "commented.pcapng")
	const packet = "here it\ufffd[2J stalls"
	o := execute(t, nil, "dissect", path)
	assert.Zero(t, o.code)
	assert.Equal(t, 1, strings.Count(o.out, "Comment: "+packet+"\n"))
	o = execute(t, nil, "dissect", "--packet", "1", path)
	assert.NotContains(t, o.out, "Comment")
	o = execute(t, nil, "dissect", "--packet", "2", "--json-lines", path)
	assert.Contains(t, o.out, `{"name":"Comment","field":"frame.comment","value":"`+packet+`","offset":0,"length":0}`)

	o = execute(t, nil, "dissect", "--summary", "-Y", `frame.comment contains "stalls"`, path)
	assert.Equal(t, 1, strings.Count(o.out, "\n"), o.out)
	o = execute(t, nil, "dissect", "--summary", "-Y", "not frame.comment", path)
	assert.NotEmpty(t, o.out)
	assert.NotContains(t, o.out, "\n      2 ")

	o = execute(t, nil, "analyze", path)
	assert.Contains(t, o.out, "  comment on the file: rack 7, after the upgrade\n  comment on interface 0: mirror port of leaf 3\n  comment on packet 2: "+packet+"\n")
	o = execute(t, nil, "analyze", "--json", path)
	var document struct {
		Files []struct {
			Comments []string `json:"comments"`
		} `json:"files"`
	}
	require.NoError(t, json.Unmarshal([]byte(o.out), &document))
	require.Len(t, document.Files, 1)
	assert.Equal(t, []string{"the file: rack 7, after the upgrade", "interface 0: mirror port of leaf 3", "packet 2: " + packet}, document.Files[0].Comments)
}
