package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set when a release is built: -ldflags "-X main.version=v1.2.3".
var version string

type versionCommand struct {
	JSON bool `help:"Print JSON."`
}

type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Run prints the version.
func (c *versionCommand) Run(std *streams) error {
	info := buildVersion()
	if c.JSON {
		return json.NewEncoder(std.Out).Encode(info)
	}
	revision := ""
	if info.Revision != "" {
		revision = ", revision " + info.Revision
		if info.Modified {
			revision += " with local changes"
		}
	}
	_, err := fmt.Fprintf(std.Out, "rocelens %s%s, %s, %s\n", info.Version, revision, info.Go, info.Platform)
	return err
}

// buildVersion reads what the linker and the go command left in the binary.
func buildVersion() versionInfo {
	info := versionInfo{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		if info.Version == "" {
			info.Version = "unknown"
		}
		return info
	}
	if info.Version == "" {
		info.Version = build.Main.Version
	}
	for _, setting := range build.Settings {
		switch setting.Key {
		case "vcs.revision":
			info.Revision = setting.Value
		case "vcs.modified":
			info.Modified = setting.Value == "true"
		}
	}
	return info
}
