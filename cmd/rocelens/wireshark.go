package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/rocelens/rocelens/dissector/metaroce/wireshark"
)

// wiresharkCommand brings what rocelens knows of MetaRoCE to Wireshark and tshark.
type wiresharkCommand struct {
	Install wiresharkInstallCommand `cmd:"" help:"Put the plugin into your Wireshark's plugin folder, and say where that is."`
	Print   wiresharkPrintCommand   `cmd:"" help:"Print the plugin, for example for tshark -X lua_script:FILE."`
}

type wiresharkInstallCommand struct {
	Dir string `help:"Put it into this folder instead; it is made if need be." placeholder:"DIR" type:"path"`
}

// Run writes the plugins of all profiles.
func (c *wiresharkInstallCommand) Run(ctx context.Context, std *streams) error {
	dir := c.Dir
	if dir == "" {
		var err error
		if dir, err = pluginFolder(ctx); err != nil {
			return err
		}
	}
	plugins, err := wireshark.Plugins()
	if err != nil {
		return err
	}
	for _, p := range plugins {
		file := filepath.Join(dir, p.Name)
		done, err := installPlugin(file, p.Data)
		if err != nil {
			return err
		}
		fmt.Fprintf(std.Out, "%s %s\n", done, file)
	}
	_, err = fmt.Fprintln(std.Out, "tshark uses it from now on; Wireshark when it starts, or after Analyze > Reload Lua Plugins.")
	return err
}

type wiresharkPrintCommand struct {
	Profile string `arg:"" optional:"" default:"mr0" help:"Profile (${default})."`
}

// Run prints the plugin of a profile.
func (c *wiresharkPrintCommand) Run(std *streams) error {
	plugins, err := wireshark.Plugins()
	if err != nil {
		return err
	}
	var names []string
	for _, p := range plugins {
		name := strings.TrimSuffix(strings.TrimPrefix(p.Name, "metaroce-"), ".lua")
		if name == c.Profile {
			_, err := std.Out.Write(p.Data)
			return err
		}
		names = append(names, name)
	}
	return &exitError{exitUsage, fmt.Errorf("no profile %q; there is %s", c.Profile, strings.Join(names, ", "))}
}

// installPlugin writes a plugin and says what it has done. It replaces older versions, but nobody else's file.
func installPlugin(file string, data []byte) (done string, err error) {
	done = "installed"
	switch before, err := os.ReadFile(file); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", fmt.Errorf("look at the plugin that is there: %w", err)
	case bytes.Equal(before, data):
		return "already there:", nil
	case !wireshark.IsPlugin(before):
		return "", fmt.Errorf("%s was not written by rocelens; move it away, or name another folder with --dir", file)
	default:
		done = "updated"
	}
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // Wireshark's own mode for it
		return "", fmt.Errorf("make the plugin folder: %w", err)
	}
	partial, err := os.CreateTemp(dir, ".rocelens-*") // not *.lua, which Wireshark would read
	if err != nil {
		return "", fmt.Errorf("write the plugin: %w", err)
	}
	_, err = partial.Write(data)
	const readable = 0o644
	err = errors.Join(err, partial.Chmod(readable), partial.Close())
	if err == nil {
		err = os.Rename(partial.Name(), file)
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("write the plugin: %w", err), os.Remove(partial.Name()))
	}
	return done, nil
}

// pluginFolder is the user's folder for plugins in Lua: what Wireshark itself answers or, where none is found, what its
// manual says (User's Guide, appendix B.5).
func pluginFolder(ctx context.Context) (string, error) {
	program := findTshark(runtime.GOOS, exec.LookPath)
	if program == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find the plugin folder: %w; name it with --dir", err)
		}
		return usualPluginFolder(runtime.GOOS, home, os.Getenv("APPDATA")), nil
	}
	const patience = 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "-G", "folders").Output() //nolint:gosec // tshark, where it is installed
	if err != nil {
		return "", fmt.Errorf("ask %s for its plugin folder: %w; name it with --dir", program, err)
	}
	return parseFolders(program, string(out))
}

// findTshark finds tshark where it is not in the path, too. It is "" when there is none.
func findTshark(system string, look func(string) (string, error)) string {
	places := []string{"tshark"}
	switch system {
	case "darwin":
		places = append(places, "/Applications/Wireshark.app/Contents/MacOS/tshark")
	case "windows":
		places = append(places, `C:\Program Files\Wireshark\tshark.exe`)
	}
	for _, place := range places {
		if program, err := look(place); err == nil {
			return program
		}
	}
	return ""
}

// parseFolders finds the folder in what tshark -G folders prints.
func parseFolders(program, text string) (string, error) {
	for line := range strings.Lines(text) {
		if dir, ok := strings.CutPrefix(line, "Personal Lua Plugins:"); ok && strings.TrimSpace(dir) != "" {
			return strings.TrimSpace(dir), nil
		}
	}
	return "", fmt.Errorf("%s names no folder for plugins in Lua, as if it was built without Lua; --dir DIR writes the plugin all the same", program)
}

// usualPluginFolder is where Wireshark looks for a user's plugins in Lua.
func usualPluginFolder(system, home, appData string) string {
	if system == "windows" {
		if appData == "" {
			appData = filepath.Join(home, "AppData", "Roaming")
		}
		return filepath.Join(appData, "Wireshark", "plugins")
	}
	return filepath.Join(home, ".local", "lib", "wireshark", "plugins")
}
