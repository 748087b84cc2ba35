package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/capture/afpacket"
)

// Options say what to examine.
type Options struct {
	Interface string
	Send      bool          // send one packet; otherwise wait for any
	Wait      time.Duration // for that packet
	Sysfs     string        // where sysfs is, "/sys"
	Status    string        // of the process, "/proc/self/status"
}

// Examine looks at the interface. The report says whether it can be captured on, in CanCapture; the error is of ctx alone.
func Examine(ctx context.Context, o Options) (*Report, error) {
	r := &Report{Version: Version, Interface: o.Interface, Proof: Proof{Kind: "none"}}
	link, err := net.InterfaceByName(o.Interface)
	if err != nil {
		r.add("interface", Problem, "there is no such network interface", "ip link lists those of this network namespace")
		r.rights(o.Status)
		return r, nil
	}
	e := examination{Report: r, options: o, link: link, nic: nic{fd: -1, name: o.Interface}}
	if fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err == nil {
		e.nic.fd = fd
		defer unix.Close(fd) //nolint:errcheck // nothing is left to be lost
	}
	e.presence()
	driver := e.driver()
	e.mtu()
	devices := rdmaDevices(o.Sysfs, o.Interface)
	r.rdma(devices)
	r.kernel(link.Index, r.rights(o.Status))
	r.xdp(link.Index)
	e.timestamps()
	e.ring()
	e.offloads()
	e.sniffer(driver, devices)
	r.Mirror = ways(o.Interface, driver, devices)
	return r, e.prove(ctx)
}

// examination is a report in the making.
type examination struct {
	*Report
	options Options
	link    *net.Interface
	nic     nic
}

func (e *examination) sysfs(words ...string) string {
	return text(filepath.Join(append([]string{e.options.Sysfs, "class", "net", e.options.Interface}, words...)...))
}

func (e *examination) presence() {
	name := e.options.Interface
	switch {
	case e.link.Flags&net.FlagUp == 0:
		e.add("interface", Problem, "it is down", "ip link set "+name+" up")
	case e.sysfs("carrier") == "0":
		e.add("interface", Note, "it is up without a carrier, so that nothing arrives", "see to the cable, and to the port at its other end")
	default:
		says := "it is up"
		if e.promiscuous() {
			says += ", and promiscuous already"
		}
		e.add("interface", OK, says, "")
	}
}

func (e *examination) promiscuous() bool {
	flags, err := strconv.ParseUint(strings.TrimPrefix(e.sysfs("flags"), "0x"), 16, 32)
	return err == nil && flags&unix.IFF_PROMISC != 0
}

// driver reports what moves the frames, and gives its name, empty when it does not tell.
func (e *examination) driver() string {
	info, err := unix.IoctlGetEthtoolDrvinfo(e.nic.fd, e.options.Interface)
	if err != nil {
		e.add("driver", Unknown, "its driver does not say what it is", "")
		return ""
	}
	name := unix.ByteSliceToString(info.Driver[:])
	says := "its driver is " + name
	if firmware := unix.ByteSliceToString(info.Fw_version[:]); firmware != "" {
		says += ", firmware " + firmware
	}
	if speed, err := strconv.Atoi(e.sysfs("speed")); err == nil && speed > 0 {
		says += fmt.Sprintf(", at %d Mbit/s", speed)
	}
	e.add("driver", OK, says, "")
	return name
}

// Room that a packet of RoCEv2 takes within the MTU beside its payload: IPv6, UDP, BTH, RETH, immediate data, ICRC; and what a
// mirror puts around it: IPv6, GRE with a sequence number, ERSPAN III with its platform header, Ethernet with a tag.
const (
	roomHeaders = 40 + 8 + 12 + 16 + 4 + 4
	roomMirror  = 40 + 8 + 20 + 18
)

func (e *examination) mtu() {
	mtu := e.link.MTU
	fits := 0
	for _, path := range []int{256, 512, 1024, 2048, 4096} { // IBTA volume 1, section 7.7.8
		if mtu >= path+roomHeaders {
			fits = path
		}
	}
	const most = 4096
	switch {
	case fits < most:
		e.add("mtu", Note, fmt.Sprintf("its MTU is %d: packets up to a path MTU of %d fit, and larger ones from a mirror are dropped by the NIC", mtu, fits),
			fmt.Sprintf("where this interface takes a mirror's copies, ip link set %s mtu 9000", e.options.Interface))
	case mtu < most+roomHeaders+roomMirror:
		e.add("mtu", Note, fmt.Sprintf("its MTU is %d: packets of every path MTU fit, but not the largest with a mirror's headers around them", mtu),
			fmt.Sprintf("for ERSPAN or VXLAN, ip link set %s mtu 9000", e.options.Interface))
	default:
		e.add("mtu", OK, fmt.Sprintf("its MTU is %d: packets of every path MTU fit, also with a mirror's headers around them", mtu), "")
	}
}

func (e *examination) timestamps() {
	info, err := unix.IoctlGetEthtoolTsInfo(e.nic.fd, e.options.Interface)
	if err != nil {
		e.add("timestamps", Unknown, "the driver does not say whether the NIC can stamp times; the kernel's clock is used", "")
		return
	}
	stamps := info.So_timestamping&unix.SOF_TIMESTAMPING_RX_HARDWARE != 0 && info.So_timestamping&unix.SOF_TIMESTAMPING_RAW_HARDWARE != 0
	switch all := info.Rx_filters&(1<<unix.HWTSTAMP_FILTER_ALL) != 0; {
	case !stamps:
		e.add("timestamps", Note, "the NIC stamps no times: the kernel's clock is used, microseconds after the packet came", "")
	case !all:
		e.add("timestamps", Note, "the NIC stamps the times of PTP's packets only: the kernel's clock is used for others", "")
	default:
		state := "not switched on"
		if config, err := unix.IoctlGetHwTstamp(e.nic.fd, e.options.Interface); err == nil && config.Rx_filter == unix.HWTSTAMP_FILTER_ALL {
			state = "switched on"
		}
		e.add("timestamps", OK, "the NIC can stamp the time of every packet, which is "+state, "")
	}
}

func (e *examination) ring() {
	now, most, ok := e.nic.ring()
	switch {
	case !ok:
		e.add("ring", Unknown, "the driver does not say how large the NIC's ring is", "")
	case now < most:
		e.add("ring", Note, fmt.Sprintf("the NIC's ring for received frames has %d places of %d", now, most),
			fmt.Sprintf("should the NIC drop frames, ethtool -G %s rx %d", e.options.Interface, most))
	default:
		e.add("ring", OK, fmt.Sprintf("the NIC's ring for received frames has %d places, all there are", now), "")
	}
}

// merging are offloads by which the capture sees a frame that never was on the wire, or not all of one.
var merging = []struct{ feature, flag, effect string }{
	{"rx-lro", "lro", "LRO"},
	{"rx-gro-list", "rx-gro-list", "GRO by list"},
	{"rx-udp-gro-forwarding", "rx-udp-gro-forwarding", "GRO of UDP"},
	{"rx-gro-hw", "rx-gro-hw", "GRO in the NIC"},
}

func (e *examination) offloads() {
	features := e.nic.features()
	if features == nil {
		e.add("offloads", Unknown, "the driver does not say what it merges", "")
		return
	}
	var on, flags []string
	for _, m := range merging {
		if features[m.feature] {
			on, flags = append(on, m.effect), append(flags, m.flag+" off")
		}
	}
	if len(on) > 0 {
		e.add("offloads", Note, strings.Join(on, ", ")+" can merge packets before they are captured",
			"ethtool -K "+e.options.Interface+" "+strings.Join(flags, " "))
		return
	}
	if features["tx-udp-segmentation"] {
		e.add("offloads", OK, "no offload merges received RDMA packets; what programs of this host send by UDP segmentation is seen before it is cut", "")
		return
	}
	e.add("offloads", OK, "no offload merges RDMA packets", "")
}

// sniffer reports what can show an RDMA NIC's own packets.
func (e *examination) sniffer(driver string, devices []rdmaDevice) {
	bypass := ""
	for _, d := range devices {
		if !d.soft {
			bypass = d.name
		}
	}
	on, has := e.nic.privateFlags()["sniffer"]
	switch {
	case has && on:
		e.add("sniffer", OK, "its driver's sniffer is on: the NIC copies RDMA packets to this interface", "")
	case has:
		e.add("sniffer", Note, "its driver has a sniffer, which is off", "ethtool --set-priv-flags "+e.options.Interface+" sniffer on")
	case bypass == "":
		e.add("sniffer", OK, "none is needed, since nothing bypasses the kernel", "")
	case strings.HasPrefix(driver, "mlx"):
		e.add("sniffer", Note, "its driver has no switch for a sniffer here; a program that opens the RDMA device can ask for one, and libpcap is such a program where it was built with it",
			"tcpdump -i "+bypass+" -w - shows whether it was")
	default:
		e.add("sniffer", Note, "its driver has no sniffer", "mirror at the switch, as shown below")
	}
}

// whyNot is what a capture that could not be opened needs.
func whyNot(name string, err error) string {
	switch {
	case errors.Is(err, afpacket.ErrDown):
		return "ip link set " + name + " up"
	case errors.Is(err, afpacket.ErrPermission):
		return "see to the capabilities, as said above"
	case errors.Is(err, afpacket.ErrLinkType):
		return "choose an interface of Ethernet or of bare IP"
	}
	return ""
}
