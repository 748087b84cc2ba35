package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rocelens/rocelens/analysis"
	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/dissector"
	"github.com/rocelens/rocelens/dissector/infiniband"
	"github.com/rocelens/rocelens/flow"
)

// jsonVersion is raised when a field changes its meaning or goes away, not when one is added. The form is
// described in docs/json.md and docs/analyze.schema.json.
const jsonVersion = 1

// spoolMemory is how many bytes of encoded flows are kept in memory before they go to a temporary file.
const spoolMemory = 64 << 20

// jsonOutput prints the document. Flows are encoded as they come, so that their number costs disk, not memory.
type jsonOutput struct {
	memory bytes.Buffer
	file   *os.File
	count  uint64
}

func newJSONOutput() *jsonOutput { return &jsonOutput{} }

type jsonHead struct {
	Version        int               `json:"version"`
	Files          []jsonFile        `json:"files"`
	FirstPacketAt  *string           `json:"first_packet_at"`
	LastPacketAt   *string           `json:"last_packet_at"`
	CaptureDropped flow.Count        `json:"capture_dropped_packets"`
	Partial        bool              `json:"partial"`
	NotRDMA        []analysis.Beside `json:"not_rdma"`
	Totals         flow.Totals       `json:"totals"`
}

type jsonFile struct {
	Name        string          `json:"name"`
	Error       *string         `json:"error"`
	Format      *string         `json:"format"`
	Compression *string         `json:"compression"`
	Packets     uint64          `json:"packets"`
	FirstNumber *uint64         `json:"first_number"`
	Partial     bool            `json:"partial"`
	Fault       *string         `json:"fault"`
	FaultOffset *int64          `json:"fault_offset"`
	Skipped     []string        `json:"skipped"`
	Interfaces  []jsonInterface `json:"interfaces"`
}

type jsonInterface struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	LinkType    uint16  `json:"link_type"`
	SnapLength  uint32  `json:"snap_length"`
	Received    *uint64 `json:"received"`
	Dropped     *uint64 `json:"dropped"`
}

type jsonFlow struct {
	ID                        string            `json:"id"`
	ConnectionID              string            `json:"connection_id"`
	ReverseFlowID             *string           `json:"reverse_flow_id"`
	Source                    string            `json:"source"`
	SourceQP                  flow.Count        `json:"source_qp"`
	Destination               string            `json:"destination"`
	DestinationQP             uint32            `json:"destination_qp"`
	Pairing                   string            `json:"pairing"`
	Service                   string            `json:"service"`
	Protocol                  string            `json:"protocol"`
	SourceMAC                 string            `json:"source_mac"`
	DestinationMAC            string            `json:"destination_mac"`
	VLAN                      flow.Count        `json:"vlan"`
	DSCP                      flow.Count        `json:"dscp"`
	SourcePort                flow.Count        `json:"source_port"`
	SourcePorts               flow.Count        `json:"source_ports"`
	PortRewrittenFrom         flow.Count        `json:"port_rewritten_from"`
	Tunnel                    *string           `json:"tunnel"`
	OuterSource               *string           `json:"outer_source"`
	OuterDestination          *string           `json:"outer_destination"`
	FirstTime                 *string           `json:"first_time"`
	LastTime                  *string           `json:"last_time"`
	DurationNS                *string           `json:"duration_ns"`
	FirstNumber               uint64            `json:"first_number"`
	LastNumber                uint64            `json:"last_number"`
	Packets                   uint64            `json:"packets"`
	Bytes                     uint64            `json:"bytes"`
	PayloadBytes              uint64            `json:"payload_bytes"`
	GoodputBytes              flow.Count        `json:"goodput_bytes"`
	ThroughputBPS             *float64          `json:"throughput_bps"`
	Messages                  flow.Count        `json:"messages"`
	Operations                jsonOperations    `json:"operations"`
	PathMTU                   flow.Count        `json:"path_mtu"`
	FirstPSN                  flow.Count        `json:"first_psn"`
	LastPSN                   flow.Count        `json:"last_psn"`
	PSNGaps                   flow.Count        `json:"psn_gaps"`
	MissingPSNs               flow.Count        `json:"missing_psns"`
	Retransmitted             flow.Count        `json:"retransmitted"`
	RetransmittedAfterNAK     flow.Count        `json:"retransmitted_after_nak"`
	RetransmittedAfterRNR     flow.Count        `json:"retransmitted_after_rnr"`
	RetransmittedAfterTimeout flow.Count        `json:"retransmitted_after_timeout"`
	OutOfOrder                flow.Count        `json:"out_of_order"`
	Duplicates                flow.Count        `json:"duplicates"`
	MirrorCopies              uint64            `json:"mirror_copies"`
	Acks                      uint64            `json:"acks"`
	Naks                      uint64            `json:"naks"`
	NaksByCode                map[string]uint64 `json:"naks_by_code"`
	RNRNaks                   uint64            `json:"rnr_naks"`
	RNRTimerMaxNS             *int64            `json:"rnr_timer_max_ns"`
	CNPs                      uint64            `json:"cnps"`
	CEMarked                  flow.Count        `json:"ce_marked"`
	ECTMarked                 flow.Count        `json:"ect_marked"`
	ICRCGood                  uint64            `json:"icrc_good"`
	ICRCBad                   uint64            `json:"icrc_bad"`
	ICRCUndetermined          uint64            `json:"icrc_undetermined"`
	Truncated                 uint64            `json:"truncated"`
	Malformed                 uint64            `json:"malformed"`
}

type jsonOperations struct {
	Send           uint64 `json:"send"`
	Write          uint64 `json:"write"`
	ReadRequest    uint64 `json:"read_request"`
	Atomic         uint64 `json:"atomic"`
	ReadResponse   uint64 `json:"read_response"`
	AtomicResponse uint64 `json:"atomic_response"`
	Ack            uint64 `json:"ack"`
	Datagram       uint64 `json:"datagram"`
	Other          uint64 `json:"other"`
}

// Flow encodes a record.
func (o *jsonOutput) Flow(r *flow.Record) error {
	encoded, err := json.Marshal(jsonFlowOf(r))
	if err != nil {
		return fmt.Errorf("encode flow: %w", err)
	}
	if o.count > 0 {
		o.memory.WriteByte(',')
	}
	o.memory.WriteString("\n    ")
	o.memory.Write(encoded)
	o.count++
	if o.memory.Len() < spoolMemory {
		return nil
	}
	if o.file == nil {
		if o.file, err = os.CreateTemp("", "rocelens-flows-*"); err != nil {
			return fmt.Errorf("spool flows: %w", err)
		}
		// Nobody else needs the name, and without one the file cannot outlive the process.
		if err := os.Remove(o.file.Name()); err != nil {
			return fmt.Errorf("spool flows: %w", err)
		}
	}
	if _, err := o.memory.WriteTo(o.file); err != nil {
		return fmt.Errorf("spool flows: %w", err)
	}
	return nil
}

// Close gives the spool back.
func (o *jsonOutput) Close() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}

func (o *jsonOutput) write(w io.Writer, files []fileResult, result *analysis.Result) error {
	head := jsonHead{
		Version: jsonVersion, Files: make([]jsonFile, 0, len(files)), CaptureDropped: result.Dropped(),
		Partial: result.Partial(), NotRDMA: result.Beside, Totals: result.Totals,
	}
	if result.HasTime {
		head.FirstPacketAt, head.LastPacketAt = jsonTime(result.FirstTime), jsonTime(result.LastTime)
	}
	for i := range files {
		head.Files = append(head.Files, jsonFileOf(&files[i]))
		head.Partial = head.Partial || files[i].Err != nil
	}
	encoded, err := json.MarshalIndent(head, "", "  ")
	if err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	// The flows are text already: they are put in before the closing brace.
	parts := []io.Reader{bytes.NewReader(bytes.TrimSuffix(encoded, []byte("\n}"))), strings.NewReader(",\n  \"flows\": [")}
	if o.file != nil {
		if _, err := o.file.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("read spooled flows: %w", err)
		}
		parts = append(parts, o.file)
	}
	parts = append(parts, &o.memory)
	if o.count > 0 {
		parts = append(parts, strings.NewReader("\n  "))
	}
	parts = append(parts, strings.NewReader("]\n}\n"))
	if _, err := io.Copy(w, io.MultiReader(parts...)); err != nil {
		return fmt.Errorf("print result: %w", err)
	}
	return nil
}

func jsonFileOf(f *fileResult) jsonFile {
	out := jsonFile{Name: f.Name, Skipped: []string{}, Interfaces: []jsonInterface{}}
	if f.Err != nil {
		text := f.Err.Error()
		out.Error = &text
		return out
	}
	r := &f.Result.Report
	out.Format, out.Packets, out.Partial = &r.Format, r.Packets, r.Partial
	if r.Compression != "" {
		out.Compression = &r.Compression
	}
	if r.Packets > 0 {
		out.FirstNumber = &f.Result.FirstNumber
	}
	if r.Partial {
		out.Fault, out.FaultOffset = &r.Fault, &r.FaultOffset
	}
	if r.Skipped != nil {
		out.Skipped = r.Skipped
	}
	for i := range f.Result.Interfaces {
		out.Interfaces = append(out.Interfaces, jsonInterfaceOf(&f.Result.Interfaces[i]))
	}
	return out
}

func jsonInterfaceOf(i *capture.Interface) jsonInterface {
	return jsonInterface{
		Name: i.Name, Description: i.Description, LinkType: i.LinkType, SnapLength: i.SnapLength,
		Received: i.Received, Dropped: i.Dropped,
	}
}

func jsonFlowOf(r *flow.Record) *jsonFlow {
	f := &jsonFlow{
		ID: idText(r.ID), ConnectionID: idText(r.ConnectionID),
		Source: r.Key.Source.String(), SourceQP: r.SourceQP,
		Destination: r.Key.Destination.String(), DestinationQP: r.Key.DestinationQP,
		Pairing: pairingText(r.Pairing), Service: r.Key.Service.String(), Protocol: r.Key.Protocol.String(),
		SourceMAC: net.HardwareAddr(r.SourceMAC[:]).String(), DestinationMAC: net.HardwareAddr(r.DestinationMAC[:]).String(),
		VLAN: r.VLAN, DSCP: r.DSCP, SourcePort: r.SourcePort, SourcePorts: r.SourcePorts, PortRewrittenFrom: r.PortRewritten,
		FirstNumber: r.FirstNumber, LastNumber: r.LastNumber,
		Packets: r.Packets, Bytes: r.Bytes, PayloadBytes: r.PayloadBytes, GoodputBytes: r.GoodputBytes,
		Messages: r.Messages, Operations: jsonOperations(r.Operations), PathMTU: r.PathMTU,
		FirstPSN: r.FirstPSN, LastPSN: r.LastPSN, PSNGaps: r.PSNGaps, MissingPSNs: r.MissingPSNs,
		Retransmitted: r.Retransmitted, RetransmittedAfterNAK: r.RetransmittedNAK,
		RetransmittedAfterRNR: r.RetransmittedRNR, RetransmittedAfterTimeout: r.RetransmittedTimeout,
		OutOfOrder: r.OutOfOrder, Duplicates: r.Duplicates, MirrorCopies: r.MirrorCopies,
		Acks: r.Acks, Naks: nakSum(r), NaksByCode: map[string]uint64{}, RNRNaks: r.RNRNaks,
		CNPs: r.CNPs, CEMarked: r.CEMarked, ECTMarked: r.ECTMarked,
		ICRCGood: r.ICRCGood, ICRCBad: r.ICRCBad, ICRCUndetermined: r.ICRCUndetermined,
		Truncated: r.Truncated, Malformed: r.Malformed,
	}
	if r.ReverseID != 0 {
		id := idText(r.ReverseID)
		f.ReverseFlowID = &id
	}
	if r.Tunnel != dissector.LayerNone {
		tunnel, source, destination := r.Tunnel.String(), r.OuterSource.String(), r.OuterDestination.String()
		f.Tunnel, f.OuterSource, f.OuterDestination = &tunnel, &source, &destination
	}
	if r.HasTime {
		f.FirstTime, f.LastTime = jsonTime(r.FirstTime), jsonTime(r.LastTime)
		// Clocks can be set back during a capture, and files can be given in any order.
		if r.LastTime >= r.FirstTime {
			duration := strconv.FormatInt(r.LastTime-r.FirstTime, 10)
			f.DurationNS = &duration
		}
	}
	if bps, ok := rate(r); ok {
		f.ThroughputBPS = &bps
	}
	for code, n := range r.Naks {
		if n > 0 {
			f.NaksByCode[infiniband.NAKCode(code).String()] = n
		}
	}
	if r.RNRNaks > 0 {
		f.RNRTimerMaxNS = &r.RNRTimerMax
	}
	return f
}

func idText(id flow.ID) string { return strconv.FormatUint(uint64(id), 10) }

func jsonTime(ns int64) *string {
	text := time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000000000Z07:00")
	return &text
}

func pairingText(p flow.Pairing) string {
	switch p {
	case flow.PairingInferred:
		return "inferred"
	case flow.PairingDatagram:
		return "datagram"
	case flow.PairingCM:
		return "cm"
	case flow.PairingNone:
	}
	return "none"
}
