package doctor

import "strings"

// ways are those by which RDMA packets reach a capture, the closest to this interface first.
func ways(name, driver string, devices []rdmaDevice) (all []Way) {
	bypass := false
	for _, d := range devices {
		if d.soft {
			continue
		}
		bypass = true
		if strings.HasPrefix(driver, "mlx5") {
			all = append(all, Way{
				"sniffer of " + d.name, "the NIC copies its RDMA packets to a program on this host, at a rate that the host can take",
				[]string{"tcpdump -i " + d.name + " -w - | rocelens analyze -"},
			})
		}
	}
	if bypass {
		all = append(all, Way{
			"eswitch", "with the NIC's eswitch in mode switchdev, packets of its virtual functions are mirrored by the representor to another interface of this host",
			[]string{
				"tc qdisc add dev " + name + " clsact",
				"tc filter add dev " + name + " ingress protocol ip flower ip_proto udp dst_port 4791 action mirred egress mirror dev MONITOR",
				"rocelens-agent run --interface MONITOR",
			},
		})
	} else {
		all = append(all, Way{
			"tc", "the kernel sees packets on " + name + ", and they are to be captured on another interface or host",
			[]string{
				"tc qdisc add dev " + name + " clsact",
				"tc filter add dev " + name + " ingress matchall action mirred egress mirror dev MONITOR",
				"tc filter add dev " + name + " egress matchall action mirred egress mirror dev MONITOR",
			},
		})
	}
	return append(all,
		Way{
			"SPAN", "a switch copies a port to the one that this interface is plugged into; its MTU must be as large as theirs",
			[]string{"rocelens-agent run --interface " + name},
		},
		Way{
			"ERSPAN, GRE or VXLAN", "a switch sends copies to an address of this host; the agent takes the headers of types I, II and III off",
			[]string{"ip address add COLLECTOR/24 dev " + name, "rocelens-agent run --interface " + name},
		},
	)
}
