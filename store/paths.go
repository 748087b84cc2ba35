package store

import (
	"context"
	"net"
	"time"

	"github.com/google/uuid"
)

// Path is a row of the table paths.
type Path struct {
	Flow                uint64       `ch:"flow_id"`
	Connection          uint64       `ch:"connection_id"`
	Source              net.IP       `ch:"source"`
	Destination         net.IP       `ch:"destination"`
	DestinationQP       uint32       `ch:"destination_qp"`
	ID                  uint8        `ch:"path_id"`
	Plane               *uint8       `ch:"plane_id"`
	PlaneChanges        uint64       `ch:"plane_changes"`
	State               int8         `ch:"state"` // a PathState
	Ports               []uint16     `ch:"source_ports.port"`
	PortPackets         []uint64     `ch:"source_ports.packets"`
	PortFirstNumber     []uint64     `ch:"source_ports.first_number"`
	PortFirstTime       []*time.Time `ch:"source_ports.first_time"`
	RePaths             uint64       `ch:"re_paths"`
	FirstTime           *time.Time   `ch:"first_time"`
	LastTime            *time.Time   `ch:"last_time"`
	FirstNumber         uint64       `ch:"first_number"`
	LastNumber          uint64       `ch:"last_number"`
	FirstPSN            *uint32      `ch:"first_psn"`
	LastPSN             *uint32      `ch:"last_psn"`
	Packets             uint64       `ch:"packets"`
	Bytes               uint64       `ch:"bytes"`
	PayloadBytes        uint64       `ch:"payload_bytes"`
	PSNGaps             uint64       `ch:"psn_gaps"`
	MissingPSNs         uint64       `ch:"missing_psns"`
	MissingAcknowledged *uint64      `ch:"missing_acknowledged"`
	Retransmitted       uint64       `ch:"retransmitted"`
	RetransmittedSeen   uint64       `ch:"retransmitted_seen"`
	RetransmittedGap    *uint64      `ch:"retransmitted_after_gap"`
	RetransmittedRNR    *uint64      `ch:"retransmitted_after_rnr"`
	RetransmittedMoved  uint64       `ch:"retransmitted_moved"`
	OutOfOrder          uint64       `ch:"out_of_order"`
	Duplicates          uint64       `ch:"duplicates"`
	Probes              uint64       `ch:"probes"`
	FirstProbe          *uint64      `ch:"first_probe_number"`
	LastProbe           *uint64      `ch:"last_probe_number"`
	FirstProbeTime      *time.Time   `ch:"first_probe_time"`
	CEMarked            uint64       `ch:"ce_marked"`
	ECTMarked           uint64       `ch:"ect_marked"` //nolint:misspell // ECN-capable transport
	Naks                uint64       `ch:"naks"`
	Acks                *uint64      `ch:"acks"`
	ReceivedPackets     *uint64      `ch:"received_packets"`
	ReceivedCE          *uint64      `ch:"received_ce"`
	HintLast            *uint64      `ch:"rate_hint_last_mbps"`
	HintMin             *uint64      `ch:"rate_hint_min_mbps"`
	HintMax             *uint64      `ch:"rate_hint_max_mbps"`
	HintUnlimited       uint64       `ch:"rate_hint_unlimited"`
	RTTSamples          uint64       `ch:"rtt_samples"`
	RTTSmoothed         *uint64      `ch:"rtt_smoothed_ns"`
	RTTVariation        *uint64      `ch:"rtt_variation_ns"`
	RTTMin              *uint64      `ch:"rtt_min_ns"`
	RTTMax              *uint64      `ch:"rtt_max_ns"`
	InFlightMax         *uint64      `ch:"in_flight_max"`
	InFlightMean        *uint64      `ch:"in_flight_mean"`
	ThroughputBPS       *float64     `ch:"throughput_bps"`
}

// PathPage is a part of the list of paths.
type PathPage struct {
	Paths []Path
	Total uint64 // paths that match
}

var pathList = list{
	table: pathsTable, columns: columnsOf(Path{}), key: "path_id", noun: "paths",
	sorts: map[string]string{
		"path_id": "path_id", "plane_id": "plane_id", "state": "state", "re_paths": "re_paths", "packets": "packets", "bytes": "bytes",
		"throughput": "throughput_bps", "retransmitted": "retransmitted", "resent_share": "resent_share", "missing_psns": "missing_psns",
		"lost": "lost", "out_of_order": "out_of_order", "duplicates": "duplicates", "ce_marked": "ce_marked", "ce_share": "ce_share",
		"naks": "naks", "rtt": "rtt_smoothed_ns", "rtt_max": "rtt_max_ns", "in_flight_max": "in_flight_max",
		"rate_hint": "rate_hint_last_mbps", "first_time": "first_time", "last_time": "last_time", "source": "source", "destination": "destination",
	},
	words: map[string]string{
		"retransmitted": "t.retransmitted > 0", "missing": "t.missing_psns > 0", "lost": "t.lost > 0", "gap": "t.psn_gaps > 0",
		"out_of_order": "t.out_of_order > 0", "duplicate": "t.duplicates > 0", "ce": "t.ce_marked > 0", "nak": "t.naks > 0",
		"probe": "t.probes > 0", "failed": "t.state = 'failed'", "recovered": "t.state = 'recovered'", "re-path": "t.re_paths > 0",
		"re-pathed": "t.re_paths > 0",
	},
	counted: map[string]string{"": "t.path_id = %d", "path": "t.path_id = %d", "plane": "t.plane_id = %d", "port": "has(t.`source_ports.port`, %d)"},
}

// Paths lists paths of a capture.
func (s *Store) Paths(ctx context.Context, capture uuid.UUID, query ListQuery) (page PathPage, err error) {
	page.Paths, page.Total, err = rowsOf[Path](ctx, s, &pathList, capture, query)
	return page, err
}
