package portstat

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Bounds of what is read as settings, since vendors put what they like there.
const (
	maxSettings = 512
	maxDepth    = 4
)

// settings are what governs DCQCN and priorities, where drivers show it:
//
//   - ecn and qos of the interface, by NVIDIA's driver (roce_np: what answers marks, roce_rp: what reacts to CNPs, trust);
//   - cc_params in debugfs, by the kernel's mlx5_ib, for root alone;
//   - rdma_cm in configfs: the type of service of connections that are set up by the connection manager;
//   - bnxt_re in configfs, by Broadcom's driver.
//
// Names are paths below these.
func (r *Reader) settings(ports []RDMA) (values []Value) {
	netdev := filepath.Join(r.sys, "class", "net", r.name)
	for _, part := range []string{"ecn", "qos"} {
		values = append(values, tree(filepath.Join(netdev, part), part, Key{Source: Setting})...)
	}
	for _, p := range ports {
		of := Key{Source: Setting, Device: p.Device, Port: p.Port}
		port := strconv.FormatUint(uint64(p.Port), 10)
		if link, err := filepath.EvalSymlinks(filepath.Join(r.sys, "class", "infiniband", p.Device, "device")); err == nil {
			values = append(values, tree(filepath.Join(r.sys, "kernel", "debug", "mlx5", filepath.Base(link), "cc_params"), "cc_params", of)...)
		}
		values = append(values, tree(filepath.Join(r.config, "rdma_cm", p.Device, "ports", port), "rdma_cm", of)...)
		values = append(values, tree(filepath.Join(r.config, "bnxt_re", p.Device, "ports", port), "bnxt_re", of)...)
	}
	return values
}

// tree is each short file below a directory.
func tree(directory, name string, of Key) (values []Value) {
	_ = filepath.WalkDir(directory, func(path string, d fs.DirEntry, err error) error {
		relative, relErr := filepath.Rel(directory, path)
		switch {
		case err != nil || relErr != nil: // what may not be read is absent
			return fs.SkipDir
		case len(values) == maxSettings:
			return fs.SkipAll
		case d.IsDir() && strings.Count(relative, string(os.PathSeparator)) >= maxDepth:
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		if t := text(path); t != "" {
			v := Value{Key: of, Text: t}
			v.Name = filepath.ToSlash(filepath.Join(name, relative))
			if n, err := strconv.ParseUint(t, 0, 64); err == nil {
				v.Number, v.HasNumber = n, true
			}
			values = append(values, v)
		}
		return nil
	})
	return values
}
