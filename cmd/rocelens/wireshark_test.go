package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rocelens/rocelens/dissector/metaroce/wireshark"
)

const pluginName = "metaroce-mr0.lua"

func plugin(t *testing.T) string {
	t.Helper()
	plugins, err := wireshark.Plugins()
	require.NoError(t, err)
	for _, p := range plugins {
		require.True(t, wireshark.IsPlugin(p.Data), p.Name)
		if p.Name == pluginName {
			return string(p.Data)
		}
	}
	require.Fail(t, "no plugin")
	return ""
}

func TestWiresharkInstall(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	file := filepath.Join(dir, pluginName)

	got := execute(t, nil, "wireshark", "install", "--dir", dir)
	require.Equal(t, 0, got.code, got.err)
	assert.True(t, strings.HasPrefix(got.out, "installed "+file+"\n"), got.out)
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, plugin(t), string(content))

	got = execute(t, nil, "wireshark", "install", "--dir", dir)
	assert.True(t, got.code == 0 && strings.HasPrefix(got.out, "already there: "+file+"\n"), "%+v", got)

	require.NoError(t, os.WriteFile(file, append(content, "-- an older version"...), 0o600))
	got = execute(t, nil, "wireshark", "install", "--dir", dir)
	assert.True(t, got.code == 0 && strings.HasPrefix(got.out, "updated "+file+"\n"), "%+v", got)

	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 1, "no temporary file stays behind")
}

func TestWiresharkInstallRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, pluginName)
	const own = "-- the user's own dissector"
	require.NoError(t, os.WriteFile(file, []byte(own), 0o600))
	got := execute(t, nil, "wireshark", "install", "--dir", dir)
	assert.Equal(t, outcome{err: "rocelens: " + file + " was not written by rocelens; move it away, or name another folder with --dir\n", code: exitFailure}, got)
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, own, string(content))

	got = execute(t, nil, "wireshark", "install", "--dir", file) // no folder
	assert.Equal(t, exitFailure, got.code)
	assert.Contains(t, got.err, "not a directory")
}

func TestWiresharkPrint(t *testing.T) {
	got := execute(t, nil, "wireshark", "print")
	assert.Equal(t, outcome{out: plugin(t)}, got)
	got = execute(t, nil, "wireshark", "print", "mr9")
	assert.Equal(t, outcome{err: "rocelens: no profile \"mr9\"; there is mr0\n", code: exitUsage}, got)
}

func TestUsualPluginFolder(t *testing.T) {
	for _, system := range []string{"linux", "darwin", "freebsd"} {
		assert.Equal(t, "/home/a/.local/lib/wireshark/plugins", filepath.ToSlash(usualPluginFolder(system, "/home/a", "")), system)
	}
	assert.Equal(t, "C:/Users/a/AppData/Roaming/Wireshark/plugins", filepath.ToSlash(usualPluginFolder("windows", "C:/Users/a", "")))
	assert.Equal(t, "D:/Data/Wireshark/plugins", filepath.ToSlash(usualPluginFolder("windows", "C:/Users/a", "D:/Data")))
}

func TestFindTsharkOutsideThePath(t *testing.T) {
	only := func(place string) func(string) (string, error) {
		return func(name string) (string, error) {
			if name == place {
				return name, nil
			}
			return "", exec.ErrNotFound
		}
	}
	const mac, windows = "/Applications/Wireshark.app/Contents/MacOS/tshark", `C:\Program Files\Wireshark\tshark.exe`
	assert.Equal(t, mac, findTshark("darwin", only(mac)))
	assert.Equal(t, windows, findTshark("windows", only(windows)))
	assert.Empty(t, findTshark("linux", only(mac)))
	assert.Equal(t, "tshark", findTshark("linux", only("tshark")))
}

func TestParseFolders(t *testing.T) {
	dir, err := parseFolders("tshark", "Temp:\t/tmp\r\nPersonal Lua Plugins:\tC:\\Users\\a b\\Wireshark\\plugins\r\nExtcap path:\t/x\r\n")
	require.NoError(t, err)
	assert.Equal(t, `C:\Users\a b\Wireshark\plugins`, dir)
	_, err = parseFolders("/usr/bin/tshark", "Temp:\t/tmp\n")
	assert.ErrorContains(t, err, "/usr/bin/tshark names no folder for plugins in Lua")
}

// Without tshark the folder is the usual one, and without a home there is none.
func TestWiresharkInstallWithoutTshark(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("tshark is found outside the path, and the home not by HOME alone")
	}
	home := t.TempDir()
	t.Setenv("PATH", t.TempDir())
	t.Setenv("HOME", home)
	got := execute(t, nil, "wireshark", "install")
	require.Equal(t, 0, got.code, got.err)
	assert.FileExists(t, filepath.Join(home, ".local", "lib", "wireshark", "plugins", pluginName))

	t.Setenv("HOME", "")
	got = execute(t, nil, "wireshark", "install")
	assert.Equal(t, exitFailure, got.code)
	assert.Contains(t, got.err, "name it with --dir")
}

// What is installed is where tshark looks: it decodes with no more being said.
func TestInstalledPluginInTshark(t *testing.T) {
	program, err := exec.LookPath("tshark")
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("tshark is not installed")
	}
	require.NoError(t, err)
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	capture := metaCapture(t)
	decode := func() string {
		out, err := exec.CommandContext(t.Context(), program, "-r", capture, "-T", "fields", "-e", "frame.protocols", "-e", "_ws.col.Info").Output()
		require.NoError(t, err)
		return string(out)
	}
	require.NotContains(t, decode(), "metaroce")
	got := execute(t, nil, "wireshark", "install")
	require.Equal(t, 0, got.code, got.err)
	assert.Equal(t, "eth:ethertype:ip:udp:metaroce\tDISCONNECT path=0 PSN=0 conn=0x00000007 from=0x00000008 len=0 reason=normal\n", decode())
}
