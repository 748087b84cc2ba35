package doctor

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sysfsOf writes the files of a sysfs.
func sysfsOf(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	return root
}

func TestRDMADeviceOfAnInterfaceIsFound(t *testing.T) {
	sysfs := sysfsOf(t, map[string]string{
		"class/infiniband/mlx5_0/device/net/ens1/mtu":       "9000\n",
		"class/infiniband/irdma0/ports/1/gid_attrs/ndevs/3": "bond0\n",
		"class/infiniband/rxe0/parent":                      "eth0\n",
	})
	for name, test := range map[string]struct {
		want  []rdmaDevice
		state State
		says  string
	}{
		"ens1":  {[]rdmaDevice{{name: "mlx5_0"}}, Note, "mlx5_0, which moves RDMA packets past the kernel"},
		"bond0": {[]rdmaDevice{{name: "irdma0"}}, Note, "irdma0, which moves RDMA packets past the kernel"},
		"eth0":  {[]rdmaDevice{{"rxe0", true}}, OK, "rxe0 is made by the kernel"},
		"eth1":  {nil, OK, "no RDMA device uses it"},
	} {
		found := rdmaDevices(sysfs, name)
		assert.Equal(t, test.want, found, name)
		var r Report
		r.rdma(found)
		require.Len(t, r.Findings, 1)
		assert.Equal(t, test.state, r.Findings[0].State, name)
		assert.Contains(t, r.Findings[0].Says, test.says)
	}
	assert.Empty(t, rdmaDevices(t.TempDir(), "eth0"), "a kernel without RDMA")
}

// Where the kernel is bypassed, the ways that are shown do not need it.
func TestWaysFitTheDriver(t *testing.T) {
	names := func(ways []Way) (out []string) {
		for _, w := range ways {
			out = append(out, w.Name)
		}
		return out
	}
	assert.Equal(t, []string{"sniffer of mlx5_0", "eswitch", "SPAN", "ERSPAN, GRE or VXLAN"}, names(ways("ens1", "mlx5_core", []rdmaDevice{{name: "mlx5_0"}})))
	assert.Equal(t, []string{"eswitch", "SPAN", "ERSPAN, GRE or VXLAN"}, names(ways("ens1", "ice", []rdmaDevice{{name: "irdma0"}})))
	assert.Equal(t, []string{"tc", "SPAN", "ERSPAN, GRE or VXLAN"}, names(ways("eth0", "virtio_net", []rdmaDevice{{"rxe0", true}})))
}

func TestCapabilitiesAreThoseInEffect(t *testing.T) {
	path := filepath.Join(sysfsOf(t, map[string]string{"status": "Name:\tx\nCapPrm:\t000001ffffffffff\nCapEff:\t0000000000003000\n"}), "status")
	var r Report
	assert.EqualValues(t, 0x3000, r.rights(path))
	assert.Equal(t, Note, r.Findings[0].State)
	assert.Contains(t, r.Findings[0].Says, "missing: CAP_BPF (for the kernel tier), CAP_PERFMON")

	var none Report
	assert.Zero(t, none.rights(path+".not"))
	assert.Equal(t, Unknown, none.Findings[0].State)
}
